"""What the pages answer: the scorecard, claims by verdict, methods, and where runs come from."""

import json
import re
from html import unescape
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pandas as pd
import pytest

from fedbench.base.files import read_text
from fedbench.paper.grid_points import Substitution, Substitutions
from fedbench.paper.printed_numbers import Place
from fedbench.paper.tables_and_figures import Table
from fedbench.report import build
from fedbench.report.pages.method import _files, cost_of
from fedbench.report.pages.runs import making
from fedbench.report.pages.tables_and_figures import TableOnPage
from fedbench.report.site import _templates
from fedbench.report.tables.cells import Run, Status, TableCell
from fedbench.report.tables.layout import TableLayout
from fedbench.report.template_words import say
from fedbench.report.values.numbers import thinned
from fedbench.spec import Choice
from fedbench.store import write_frame
from tests.project import Refuses
from tests.report.answers_case import PAPER, SCALES, STUDY, _plan, written

BOARD = PAPER.replace("alpha: [1, 0.1]", "alpha: [1, 0.3, 0.2, 0.1]") + "front: long\n"
BOARD = BOARD.replace(
    "rows: [dataset, alpha, method], columns: [metric]",
    "rows: [dataset, method, alpha], columns: [metric], order: best first",
)
EMPTY = {f"g{n}": f"Fig. {n}" for n in (2, 3, 4, 6)} | {"g7": "'Fig. 7, left'"}


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("full"))


def text(page: Path) -> str:
    """What a reader sees, with one blank between words."""
    html = read_text(page)
    html = re.sub(r"<(style|script)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def between(html: str, start: str, end: str) -> str:
    """What stands between two marks."""
    return html.partition(start)[2].partition(end)[0]


def scores(report: Path) -> str:
    """The paper's row of the scorecard, as HTML."""
    html = read_text(report / "index.html")
    return between(html, '<a href="toy.html#claims">toy</a></th>', "</tr>")


def page_making(page: SimpleNamespace) -> str:
    """What a card says of how its runs were made."""
    macros = _templates().get_template("macros.html.j2")
    return str(macros.module.making(page))


def counts(row: str) -> list[int]:
    cells = re.findall(r"<td.*?</td>", row, re.DOTALL)[:-1]  # the last has signs
    return [int(re.sub(r"<[^>]+>", "", x)) for x in cells]


def test_the_scorecard_counts_claims_and_links_to_them(full: Path) -> None:
    row = scores(full)
    # printed: A 50 and B+ 52; measured with 3 seeds: A 60 to 62, B+ 50 to 52
    assert counts(row) == [2, 1, 0, 0, 2, 1, 0, 0, 0, 0, 0]
    assert 'href="toy.html#claims-printed-fails">1</a>' in row
    assert 'href="toy.html#claims-here-not-supported">1</a>' in row


def test_claims_that_a_scale_leaves_out_are_judged_on_the_printed_numbers(tmp_path: Path) -> None:
    apart = PAPER.replace(
        "grids:", "grids:\n  other: {axes: {alpha: [1], method: [A]}, seeds: [0]}"
    )
    apart = apart.replace("grid: main, where: {alpha: 1}, panels: [dataset]", "grid: other")
    row = scores(written(tmp_path, "curves", apart))
    # hold, fail, undecided, none printed; by the runs: supported, not supported, undecided, not
    # tested; under our reading the first three of these
    assert counts(row) == [2, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0]
    html = read_text(tmp_path / "reports/curves/toy.html")
    card = between(html, 'id="claim-better"', "</article>")
    assert "fails" in card
    assert re.findall(r'class="see" href="(.*?)"', card) == ["#f"]  # the page has no Table 1
    evidence = pd.read_csv(tmp_path / "reports/curves/claims/toy.csv")
    assert set(evidence["measured"]) == {"not tested"}


def test_the_answer_counts_many_settings_of_a_scale_and_the_claim_lists_them(
    tmp_path: Path,
) -> None:
    html = read_text(written(tmp_path, "other") / "toy.html")
    (answer,) = re.findall(r'<p class="answer">(.+?)</p>', html)
    assert "6 settings" in answer
    assert "clients in place of" not in answer
    assert "5 clients in place of" in html.partition('id="claims"')[2]


def test_the_answer_comes_first(tmp_path: Path) -> None:
    found = PAPER + "in_short: B+ leads.\nfindings: {B+ is ahead: B+ leads A by 5 points.}\n"
    folder = written(tmp_path, "full", found)
    html = read_text(folder / "toy.html")
    sections = re.findall(r'<section id="(\w+)"', html)
    assert sections[:3] == ["t", "findings", "claims"]  # the table that shows the first claim
    (answer,) = re.findall(r'<p class="answer">(.+?)</p>', html)
    claim, label = re.search(
        r'</span> (.+)<br>.+<a class="verdict.+href="#claim-(\w+)">', answer
    ).groups()
    assert f'id="claim-{label}"' in html
    assert html.index(answer) < html.index("Conditions: scale full") < html.index('id="t"')
    assert claim in html[html.index('id="claims"') :]
    assert html.index("B+ leads.") < html.index(
        "<summary>B+ is ahead</summary><p>B+ leads A by 5 points.</p>"
    )
    index = read_text(folder / "index.html")
    told = index[index.index('id="short"') : index.index('id="score"')]
    assert claim in told  # and by a link to it what the runs say
    assert f'href="toy.html#claim-{label}"' in told
    assert '<p class="short">B+ leads.</p>' in told.partition("<details")[2]


def test_a_study_without_claims_says_on_the_front_page_what_was_found(tmp_path: Path) -> None:
    study = STUDY.split("claims:")[0]
    folder = written(tmp_path, "full", study + "in_short: B+ leads.\n")
    index = read_text(folder / "index.html")
    assert "B+ leads." in index[index.index('id="short"') : index.index('id="papers"')]


def test_findings_of_published_runs_say_so_on_pages_of_other_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SCALES, "cpu", SCALES["full"])
    found = PAPER + "in_short: B+ leads.\nfindings: {B+ is ahead: B+ leads A by 5 points.}\n"
    folder = written(tmp_path, "full", found)
    words = (
        "These findings are about the published runs at scale cpu, not about the runs shown here."
    )
    assert words in text(folder / "toy.html")
    assert "What we found, in the published runs at scale cpu" in text(folder / "index.html")
    assert words not in text(written(tmp_path, "cpu", found) / "toy.html")


def test_the_front_page_shows_the_first_rows_of_a_leaderboard(tmp_path: Path) -> None:
    index = read_text(written(tmp_path, "small", BOARD) / "index.html")
    first = index.index('<section id="front-toy">')
    assert first == index.index("<section")
    seen = unescape(re.sub(r"<[^>]+>|\s+", " ", index[first : index.index("</section>")]))
    words = re.sub(r"\s+", " ", seen)
    assert "From A toy paper : the first 10 of 12 rows in each of 2 parts" in words
    row = "{} {} {}.00 ± 1.00"  # three seeds, one percentage point apart
    rows = [("trick", 71)] * 4 + [("A", 61)] * 4 + [("B+", 51)] * 2
    for (method, mean), alpha in zip(rows, [1, 0.3, 0.2, 0.1] * 3, strict=False):
        assert words.count(row.format(method, alpha, mean)) == 2
    assert words.count("B+") == 4  # of 12 rows those at places 11 and 12 are left out
    assert "not tested at this scale what stands in for what" in words


def test_the_front_page_has_fedavg_wherever_it_stands(tmp_path: Path) -> None:
    report = written(tmp_path, "small", BOARD.replace("B+", "FedAvg"), printed="")
    seen = text(report / "index.html")
    assert seen.count("FedAvg") >= 8
    assert "0.2 (11th of 12)" in seen
    assert "0.1 (12th of 12)" in seen


def test_a_leaderboard_without_a_run_is_not_on_the_front_page(tmp_path: Path) -> None:
    plan = _plan(tmp_path, "full", BOARD)
    build(plan, tmp_path / "results", tmp_path / "reports", tmp_path / "workflow/papers")
    assert "front-toy" not in read_text(tmp_path / "reports/full/index.html")


def test_a_study_ranks_its_methods_per_group_of_rows_and_names_no_paper(tmp_path: Path) -> None:
    study = STUDY.replace("columns: [metric]}", "columns: [metric], ranks: seeds}")
    report = written(tmp_path, "full", study)
    html = read_text(report / "toy.html")
    assert re.findall(r'id="(ranks_\w+)"', html) == [
        "ranks_t", "ranks_long", "ranks_long_1", "ranks_long_2"
    ]  # fmt: skip
    titles = re.findall(r'aria-label="(Table 2.*?mean ranks .*?)"', html)
    assert titles == [  # 2 data sets, 2 levels of α, 3 seeds
        "Table 2: mean ranks (1 is the best) over 12 runs (3 seeds in each of 4 settings)",
    ]
    assert (report / "figures/toy/ranks_long.svg").is_file()
    seen = text(report / "toy.html")  # six runs tell no two of three methods apart
    assert "Table 2, MNIST: mean ranks (1 is the best) over 6 runs (3 seeds in each of" in seen
    assert not (report / "figures/toy/ranks_long_2.svg").is_file()
    assert "Mean ranks In each setting" in seen
    assert "The best is in bold" in seen
    assert "paper has no such diagrams" not in seen
    assert "What this study expects, judged on its runs." in seen
    assert "a method or setting run to see what explains a difference" in seen
    assert "Printed numbers" not in seen


def test_figures_of_which_nothing_is_drawn_are_one_line(tmp_path: Path) -> None:
    # a lead over the only method that is drawn: there is none
    where = "where: {dataset: MNIST, method: A, alpha: 1}"
    alone = f"grid: main, {where}, kind: {{lead: {{base: A}}}}"
    empty = [f"  {key}: {{title: {title}, {alone}}}" for key, title in EMPTY.items()]
    curves = "  last: {title: Fig. 9, grid: main, where: {alpha: 1}, panels: [dataset]}"
    paper = PAPER.replace("claims:", "\n".join([*empty, curves, "claims:"]), 1)
    report = written(tmp_path, "full", paper)
    html = read_text(report / "toy.html")
    figures = between(html, '<div class="figures">', "</div>")
    assert re.findall(r'<figure id="(\w+)"', figures) == ["f", "last"]
    (line,) = re.findall(r'<p class="caption empty">(.*?)</p>', figures)
    assert figures.index('id="f"') < figures.index(line) < figures.index('id="last"')
    assert re.findall(r'<span id="(\w+)">', line) == [*EMPTY]  # links lead there still
    seen = re.sub(r"<.*?>", "", line)
    assert [title for title in EMPTY.values() if title.strip("'") not in seen] == []
    assert "too few seeds are finished" in seen
    contents = between(html, 'aria-label="Contents"', "</nav>")
    assert 'href="#last"' in contents
    assert not any(f'href="#{key}"' in contents for key in EMPTY)
    assert all((report / f"figures/toy/{key}.svg").is_file() for key in EMPTY)
    assert "Fig. 6" not in text(report / "methods/a.html")


def test_decided_claims_are_named_on_the_front_page(full: Path) -> None:
    html = read_text(full / "index.html")
    part = between(html, 'id="decided"', "</section>")
    titles = re.findall(r"<h3>(.*?)</h3>", unescape(part))
    assert titles == [
        "Supported by the runs here", "Not supported by the runs here",
        "At odds with the paper's own numbers",
    ]  # fmt: skip
    named = [re.findall(r"#claim-(\w+)", each) for each in part.split("<h3>")[1:]]
    assert named == [["better", "alone"], ["worse"], ["better"]]


def test_substitutes_show_but_test_nothing(tmp_path: Path) -> None:
    html = read_text(written(tmp_path, "small") / "index.html")
    row = between(html, '<th scope="row" class="head"><a href="toy.html#claims">', "</tr>")
    assert '<td class="start">4 of 4</td>' in row
    assert "in part not tested at this scale" in text(tmp_path / "reports/small/index.html")


def test_a_claim_is_found_by_its_verdicts_and_shown_by_its_figure(full: Path) -> None:
    html = read_text(full / "toy.html")
    cards = dict(re.findall(r'<article class="claim ([^"]*)" id="claim-(\w+)"', html))
    assert cards["printed-fails here-supported"] == "better"
    assert cards["printed-holds here-not-supported"] == "worse"
    card = between(html, 'id="claim-better"', "</article>")
    assert re.findall(r'class="see" href="(.*?)"', card) == ["#t", "#f"]
    assert len(re.findall(r'href="run.html#', card)) == 4 * 2 * 3  # cells, methods, seeds


def test_a_claim_leads_to_its_table_and_to_what_it_names(tmp_path: Path) -> None:
    side = "grid: main, kind: greater, winner: A, loser: B+, where: {alpha: 1}"
    claims = {
        "alone": f"{side}",
        "both": f"{side}, shown_in: [f, long]",
        "joined": "kind: together, claims: [both, better]",
        "apart": "kind: together, claims: [both, better], shown_in: [long]",
    }
    lines = [f"  {key}_: {{text: Says., {rest}}}" for key, rest in claims.items()]
    told = "\n".join(["claims:", *lines, ""]).replace("[both,", "[both_,")
    html = read_text(written(tmp_path, "full", PAPER.replace("claims:\n", told)) / "toy.html")
    cards = {key: between(html, f'id="claim-{key}_"', "</article>") for key in claims}
    links = {key: re.findall(r'class="see" href="#(.*?)"', card) for key, card in cards.items()}
    assert links == {
        "alone": [], "both": ["long", "f"], "joined": ["t", "long", "f"], "apart": ["long"]
    }  # fmt: skip


def test_a_claim_that_names_no_table_or_figure_is_refused(refuses: Refuses, tmp_path: Path) -> None:
    with refuses("claims.better.shown_in: no table or figure 'g'; did you mean 'f'|choose from"):
        written(tmp_path, "full", PAPER.replace("shown_in: [f]", "shown_in: [g]"))


def test_a_claim_leads_to_those_that_it_joins(tmp_path: Path) -> None:
    both = "  both: {text: Both., kind: together, claims: [better, alone]}\ndeviations"
    html = read_text(written(tmp_path, "full", PAPER.replace("deviations", both)) / "toy.html")
    card = between(html, 'id="claim-both"', "</article>")
    assert re.findall(r'href="#claim-(\w+)"', card) == ["both", "better", "alone"]
    assert "joins" not in between(html, 'id="claim-better"', "</article>")


def test_the_picture_of_a_claim_has_its_effects_in_place(full: Path) -> None:
    html = read_text(full / "toy.html")
    picture = between(html, 'id="claim-better"', "</svg>")
    # beside the names the scale reaches from −5 to the measured +10: zero is at 128 + 170 · 5/15
    assert 'class="axis" x1="184.7"' in picture
    assert picture.count('<circle cx="298.0"') == 4
    assert picture.count('class="said" d="M162.0 ') == 4
    assert picture.count('<g class="holds">') == 4


def test_a_page_says_how_its_runs_were_made_and_the_card_of_a_study_who_is_best(
    full: Path, tmp_path: Path
) -> None:
    shown = text(full / "index.html")
    best = "A is best in 4 of 4 settings, by the mean alone"
    assert best not in shown  # of a paper the claims say it, with a test
    assert best in text(written(tmp_path, paper=STUDY) / "index.html")
    page = text(full / "toy.html")
    assert "time 1.0 hours of training, scoring and probes" in page  # 36 runs of 100 seconds
    assert "versions fedbench 0.1.0 data digits, source: a test" in page


def card(
    table: Table, rows: dict[str, dict[str, float]], seeds: int = 3, substituted: Substitutions = ()
) -> TableOnPage:
    """A table of these numbers by setting and method; each best one is marked."""
    cells = {}
    for (setting, values), metric in product(rows.items(), table.metrics):
        for method, value in values.items():
            runs = tuple(Run(f"{method}{n}", n, Status.FINISHED, value) for n in range(seeds))
            place = Place("t", "MNIST", setting, method, metric)
            best = value == max(values.values())
            cells[place] = TableCell(place, {}, False, None, runs, substituted, best=best)
    layout = SimpleNamespace(groups=[SimpleNamespace(cells=list(cells.values()))])
    return TableOnPage("t", table, cast(TableLayout, layout), "", ())


def test_a_card_counts_settings_by_one_metric_and_names_ties() -> None:
    table = Table(title="T", grid="g", metrics=("accuracy", "loss"), rows=("alpha",), columns=())
    rows = {"a": {"A": 2.0, "B": 1.0}, "b": {"A": 2.0, "B": 1.0}, "c": {"A": 1.0, "B": 2.0}}
    tied = rows | {"d": {"A": 2.0, "B": 2.0}}
    shown = card(table, rows)
    assert shown.size == (2, 3)
    assert shown.wins == ([("A", 2), ("B", 1)], 3)
    assert card(table, tied).wins == ([("A", 2), ("B", 1)], 4)  # and a tie
    assert card(table, {"a": rows["a"]}).wins == ([("A", 1)], 1)


def test_a_card_names_no_leader_of_one_seed_of_substitutes_or_of_ties() -> None:
    table = Table(title="T", grid="g", rows=("alpha",), columns=("method",))
    rows = {"a": {"A": 2.0, "B": 1.0}}
    assert card(table, rows, seeds=1).wins == ([], 0)
    assert card(table, rows, substituted=(Substitution("rounds", "4", "500"),)).wins == ([], 0)
    assert card(table, {"a": {"A": 2.0, "B": 2.0}}).wins == ([], 1)


def test_a_card_says_what_the_trials_of_searches_took() -> None:
    count = {"planned": 1, "missing": {}, "diverged": {}}
    made = making([{"seconds": {"train": 3600.0}}])
    said = [
        page_making(SimpleNamespace(**count, making=made, hours=(hours, 0.0)))
        for hours in (1.0, 2.5)
    ]
    assert "1.0 hours of training, scoring and probes" in said[0]
    assert "trials" not in said[0]
    assert (
        "1.0 hours of training, scoring and probes, 2.5 hours with the trials of searches"
        in said[1]
    )


def test_facts_that_differ_say_of_how_many_runs() -> None:
    records = [{"device": "cpu"}, {"device": "GPU"}, {"device": "cpu"}]
    made = making({**record, "seconds": {"train": 20.0}} for record in records)
    assert made["devices"] == (("cpu", 2), ("GPU", 1))
    assert say("runs.counts", made["devices"]) == "cpu (2 runs); GPU (1 run)"
    assert made["seconds"] == 60
    assert say("runs.time", made["seconds"]) == "1.0 minutes"
    assert made["days"] == ()  # runs of before did not say
    assert making([]) is None


def test_runs_are_counted_by_what_is_known_of_their_data() -> None:
    noted = {"name": "cifar10", "source": "npz", "note": "98 are JPEG", "checksum": "ab"}
    records = [{"data": noted}, {"data": {"name": "toy", "source": "made"}}, {"data": noted}]
    assert making(records)["data"] == (
        ("cifar10, source: npz, note: 98 are JPEG", 2),
        ("toy, source: made", 1),
    )


def test_a_card_says_on_which_machine_and_when() -> None:
    days = ("2026-11-23T01:00:00+00:00", "2026-11-21T23:59:59+00:00")
    here = {"device": "cpu", "processor": "EPYC", "machine": "x86_64"}
    made = making([{**here, "ended": day} for day in days])
    assert made["devices"] == (("cpu, EPYC, x86_64", 2),)
    assert say("runs.counts", made["devices"]) == "cpu, EPYC, x86_64"
    assert made["days"] == ("2026-11-21", "2026-11-23")
    assert making([{**here, "ended": days[0]}])["days"] == ("2026-11-23",)


def test_a_method_has_its_rank_its_parts_and_its_cost(full: Path) -> None:
    shown = text(full / "methods/b-plus.html")
    # behind A and the control in each setting
    rank = "Table 1 , MNIST, α = {}: 51.00 ± 1.00 , by the mean 3 of 3"
    assert rank.format(1) in shown
    assert rank.format(0.1) in shown
    assert shown.count("by the mean 3 of 3") == 4
    assert "Mean rank" not in shown
    # 2 for the pull towards x_t: a difference, and its sum with the gradient
    assert "cost beyond FedAvg's: 2 more vector operations per local step" in shown
    assert "return Cost(" not in shown
    assert "g + μ (y − x_t)" in shown
    assert "mu: 0.1" in shown
    assert "@misc{toy, title = {A toy paper}}" in shown
    no_parts = text(full / "methods/a.html")
    assert "No parts: federated averaging; the setting weights mixes clients all alike" in no_parts


def test_a_parameter_that_a_search_chose_is_given_no_value(tmp_path: Path) -> None:
    tune = '{grid: {fedprox.mu: [0.1, 1]}, by: best, "on": held-out, share: 0.1, seeds: [0]}'
    line = "    seeds: [0, 1, 2]\n"
    for where, words in (
        ("{dataset: Digits, method: B+}", "mu: 0.1, or chosen by a search"),
        ("{method: B+}", "mu: chosen by searches"),
    ):
        cases = f"    cases: [{{where: {where}, settings: {{tune: {tune}}}}}]\n"
        page = written(tmp_path, "full", PAPER.replace(line, line + cases)) / "methods/b-plus.html"
        assert words in text(page)


def test_a_page_explains_the_symbols_of_its_own_axes(full: Path, tmp_path: Path) -> None:
    words = "how alike the clients' data are: a parameter of Dirichlet distributions"
    assert f"α {words}" in text(full / "toy.html")
    of_classes = PAPER.replace("alpha", "s").replace("dr: {s: $}", "sp: {s: $}")
    classes = of_classes.replace("s: [1, 0.1]", "s: [1, 2]").replace(
        "where: {s: 1}", "where: {s: 2}"
    )
    shown = text(written(tmp_path, "full", classes, printed="") / "toy.html")
    assert "s how alike the clients' data are: classes per client" in shown
    assert "Dirichlet" not in shown


def test_a_run_that_is_missing_has_no_page_to_lead_to(tmp_path: Path) -> None:
    written(tmp_path)
    plan, file = _plan(tmp_path, "full", PAPER), tmp_path / "results/full/toy.parquet"
    frame = pd.read_parquet(file)
    lost = str(frame["run_id"].iloc[0])
    write_frame(frame[frame["run_id"] != lost], file)
    build(plan, tmp_path / "results", tmp_path / "reports", tmp_path / "workflow/papers")
    html = read_text(tmp_path / "reports/full/toy.html")
    claims = between(html, 'id="claims"', "</section>")
    assert f"{lost} is not finished" in claims
    assert f"run.html#{lost}" not in claims


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (["feddisco"], ("nothing",)),
        (
            ["feddpc"],
            (
                "1 model stored at the server",
                "5 more vector operations per client and round",
                "3 more vector operations per round at the server",
            ),
        ),
        (["fedntd"], ("1 more forward pass per sample, 1 through a teacher",)),
        (
            ["fedsam", "asd"],
            (
                "2 more forward passes per sample, 1 through a teacher",
                "1 more backward pass per sample",
                "3 more vector operations per local step",
            ),
        ),
        # 110 = 10 classes · (10 logits + 1 count)
        (
            ["feddistill"],
            (
                "110 numbers more sent to each client",
                "110 numbers more sent by each client",
                "111 numbers stored at each client",
                "110 numbers stored at the server",
            ),
        ),
    ],
)
def test_costs_are_told_in_words(parts: list[str], words: tuple[str, ...]) -> None:
    cost = cost_of([Choice(name=name) for name in parts])
    assert say("runs.cost", cost).split("; ") == [*words]


def test_without_parts_nothing_is_added() -> None:
    assert cost_of([]) is None


def test_models_and_numbers_beside_them() -> None:
    assert [say("runs.models", x, 1000) for x in (1000, 2000, 1001, 5005, 733, 10, 100_000)] == [
        "1 model", "2 models", "1 model and 1 number", "5 models and 5 numbers", "0.73 models",
        "10 numbers", "100 models",
    ]  # fmt: skip


def test_methods_whose_names_differ_in_signs_have_pages_of_their_own() -> None:
    assert _files(["X (a)", "X a", "X+"]) == {
        "X (a)": "x-a.html", "X a": "x-a-2.html", "X+": "x-plus.html"
    }  # fmt: skip


def test_a_run_has_its_curve_settings_and_origin(full: Path) -> None:
    runs, facts = {}, {}
    for file in (full / "runs").glob("*.js"):
        content = json.loads(read_text(file).strip().removeprefix("showRuns(")[:-2])
        assert {run[-1] for run in content["runs"]} == {file.stem}
        runs |= content["runs"]
        facts |= content["facts"]
    assert len(runs) == 36
    run = next(each for name, each in runs.items() if name.startswith("mnist") and "-s0-" in name)
    assert run["x"] == [1, 2, 3, 4]
    assert run["curves"]["Accuracy (%)"][-1] in (60.0, 50.0, 70.0)
    assert run["sha256"] == "cd"
    assert run["settings"]["lr"] == 0.3  # trained with, not written
    assert run["chosen"] == {"lr": "chosen by the search; 0.03 in the file"}
    assert facts[str(run["made"])] == {"device": "cpu", "fedbench": "0.1.0"}


def test_any_number_of_processes_writes_the_same_bytes(full: Path, tmp_path: Path) -> None:
    shared = written(tmp_path, workers=2)
    names = sorted(x.relative_to(full) for x in full.rglob("*") if x.is_file())
    assert names == sorted(x.relative_to(shared) for x in shared.rglob("*") if x.is_file())
    assert [x for x in names if (full / x).read_bytes() != (shared / x).read_bytes()] == []


def test_what_fails_in_a_process_is_named(refuses, tmp_path: Path) -> None:
    paper = PAPER.replace("panels: [dataset]}", "panels: [dataset], metric: macro_f1}")
    with refuses("not shown are toy/f: toy: figures.f: no run has the column 'macro_f1'"):
        written(tmp_path, paper=paper, workers=2)
    assert "toy/f is not shown" in text(tmp_path / "reports/full/toy.html")


def test_links_of_a_claim_are_spread_over_all_that_show_it() -> None:
    assert [thinned(n, 3) for n in (0, 2, 3)] == [[], [0, 1], [0, 1, 2]]
    assert thinned(6, 3) == [0, 2, 5]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("", "a seed redraws the partition, the"),
        ("data_seed: 0, ", "a seed redraws the partition (but where a"),
    ],
)
def test_the_page_says_what_a_seed_redraws(tmp_path: Path, settings: str, words: str) -> None:
    paper = PAPER.replace("settings: {", f"settings: {{{settings}", 1)
    paper = paper.replace("deviations", "redraws: Three trials.\ndeviations")
    assert f"Three trials. In the runs here {words}" in text(
        written(tmp_path, "full", paper) / "toy.html"
    )


def test_what_is_ours_stands_apart(tmp_path: Path) -> None:
    paper = PAPER.replace('better: {text: "A', 'better: {ours: true, text: "A')
    html = read_text(written(tmp_path, "full", paper) / "toy.html")
    own = between(html, '<section id="own">', "</section>")
    assert re.findall(r'id="claim-(\w+)"', own) == ["better"]
    row = scores(tmp_path / "reports/full")
    assert counts(row) == [2, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
