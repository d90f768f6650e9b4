"""Methods by their papers' names: all of them are there, sound, and train."""

import pytest

from fedbench import RunSpec, run
from fedbench.core.part_conflicts import refuse_conflicts
from fedbench.engine.assemble import build_parts
from fedbench.spec.compositions import compositions
from tests.few import few_digits
from tests.methods.protocol import declared

# As the papers' tables, figures and algorithms name them
FEDADC = [
    "FedAvg",
    "SlowMo",
    "FedADC",
    "FedADC+",
    "MOON",
    "FedGKD",
    "FedNTD",
    "FedDyn",
    "FedProx",
    "FedRS",
]
FEDDPC = ["FedAvg", "FedProx", "FedExP", "FedGA", "FedCM", "FedVARP", "FedDPC"]
FEDGKD = [
    "FedAvg",
    "FedProx",
    "FedDistill+",
    "FedGen",
    "FedDF",
    "MOON",
    "FedGKD",
    "FedGKD-Vote",
    "FedGKD+",
]
ASD = ["FedAvg", "FedProx", "FedNTD", "FedDyn", "FedSAM", "FedDisco", "FedSpeed"]
PAPERS = {
    "fedadc": [*FEDADC, "FedADC blue", "FedADC double"],
    "feddpc": [*FEDDPC, "FedDPC (projection only)", "Two-sided FedAvg"],
    "rmfl": ["MFL", "RMFL"],
    "fedgkd": FEDGKD,
    "asd": [*ASD, *(f"{name}+ASD" for name in ASD)],
}
FAST = {
    "model": {"mlp": {"hidden": 4}},
    "clients": 4,
    "participation": 0.5,
    "rounds": 2,
    "steps": 2,
}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_method_of_every_paper_has_its_name(paper):
    for name in PAPERS[paper]:
        assert paper in compositions()[name].papers, name


def test_the_baselines_beyond_the_papers_have_names():
    for name in ("SCAFFOLD", "FedNova", "FedAdagrad", "FedAdam", "FedYogi", "MimeLite", "FedACG"):
        assert compositions()[name].papers == ()


@pytest.mark.parametrize("name", compositions())
def test_every_named_method_trains(cpu, name):
    settings = compositions()[name].run_settings()
    parts = [{p.name: {**declared(p.name, "QUICK"), **p.params}} for p in settings.pop("parts")]
    spec = RunSpec(**{**FAST, **settings}, parts=parts)
    refuse_conflicts(build_parts(spec))
    result = run(spec, machine=cpu, data=few_digits())
    assert result.status == "finished"
    assert result.weights.isfinite().all()


@pytest.mark.parametrize("name", [n for n, method in compositions().items() if method.search])
def test_the_values_that_a_search_tries_are_allowed_and_few(name):
    method = compositions()[name]
    ((parameter, values),) = method.search.items()  # one main parameter
    part, _, key = parameter.partition(".")
    assert 1 <= len(set(values)) == len(values) <= 3
    for value in values:
        tried = [p.params | {key: value} if p.name == part else p.params for p in method.parts]
        names = [p.name for p in method.parts]
        build_parts(RunSpec(parts=[{n: p} for n, p in zip(names, tried, strict=True)]))


def test_what_a_method_needs_stands_beside_it():
    assert compositions()["FedGKD+"].run_settings()["projection"] == 256
    assert compositions()["FedGKD"].settings == {}
    for name, found in compositions().items():
        parts = build_parts(RunSpec(parts=list(found.parts)))
        if any(part.needs_projection for part in parts):
            assert "projection" in found.settings, name
        if any(part.proxy_data for part in parts):
            assert found.settings["validation"] > 0, name


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("FedAvg", []),
        ("FedADC+", [{"fedadc": {"variant": "red"}}, "selfconfidence"]),
        ("FedNTD+ASD", [{"asd": {"divergence": "ntd"}}]),
        ("FedDyn+ASD", ["feddyn", "asd"]),
        ("FedGA", ["fedgaonetrip"]),
        ("FedLS-NTD", [{"fedntd": {"beta": 0.3, "mix": "convex"}}]),
        ("FedDPC (projection only)", [{"feddpc": {"scaling": "none"}}]),
    ],
)
def test_some_methods_by_hand(name, parts):
    assert compositions()[name].model_dump()["parts"] == tuple(parts)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{parts: [fedproxx], citation: x}", "did you mean 'fedprox'?"),
        ("{parts: [{fedprox: {nu: 1}}], citation: x}", "method 'fedprox': no parameter 'nu'"),
        ("{parts: [], citation: x, with: {projecton: 1}}", "did you mean 'projection'?"),
        ("{parts: [], with: {weights: sample}}", "Mine: with: weights = 'sample' is not allowed"),
        ("{parts: [], with: {clients: 0}}", "Mine: with: clients = 0 is not allowed"),
        ("{parts: [asd], citation: x, search: {ads.lam: [1]}}", "did you mean 'asd'?"),
        ("{parts: [asd], citation: x, search: {asd.lom: [1]}}", "no parameter 'lom'"),
        ("{parts: [asd], citation: x, search: {asd.lam: []}}", "at least one value is needed"),
        ("{parts: [], citation: x, wth: {}}", "no field in Composition 'wth'"),
        ("{parts: [], citation: x, papers: [feddc]}", "papers.0 = 'feddc' is not allowed"),
        ("{citation: x}", "parts is missing"),
        ("[]", "must be a mapping of fields"),
    ],
)
def test_a_mistake_is_named_with_its_place(refuses, tmp_path, text, words):
    file = tmp_path / "methods.yaml"
    file.write_text(f"Mine: {text}\n")
    with refuses() as caught:
        compositions(file)
    assert str(caught.value).startswith(f"{file}: Mine: ")
    assert words in str(caught.value)


def test_a_need_of_a_method_may_depend_on_the_run(tmp_path):
    file = tmp_path / "methods.yaml"
    file.write_text("Mine: {parts: [], with: {nesterov: true}}\n")
    assert compositions(file)["Mine"].settings == {"nesterov": True}


def test_an_unknown_name_gets_the_nearest(refuses):
    with refuses("no method 'FedADCC'; did you mean 'FedADC'"):
        RunSpec(parts=["FedADCC"])


def test_methods_that_need_other_settings_are_refused_unless_the_run_says_which(
    refuses, tmp_path, monkeypatch
):
    lines = (
        "Heavy: {parts: [fedprox], with: {epochs: 3}}",
        "Light: {parts: [asd], with: {epochs: 1}}",
    )
    (tmp_path / "compositions.yaml").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    with refuses("parts: its methods need epochs = 3 and 1; set epochs"):
        RunSpec(parts=["Heavy", "Light"])
    assert RunSpec(parts=["Heavy", "Light"], epochs=2).epochs == 2
