"""YAML is read as plain values of bounded size; whatever else it says is refused at its line."""

import pytest
import yaml

from fedbench.base.errors import FedbenchError
from fedbench.base.yamlfile import DEEPEST, MOST, load, read_value, read_yaml, written
from fedbench.spec import RunSpec

TENFOLD = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
BOMB = f"a0: &a0 [{', '.join('x' * 10)}]\n{TENFOLD}lr: *a11\n"


def refusal(tmp_path, text):
    file = tmp_path / "spec.yaml"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(FedbenchError) as caught:
        load(file, RunSpec)
    assert str(caught.value).startswith(f"{file}: ")
    assert str(caught.value).isprintable()
    return str(caught.value).removeprefix(f"{file}: ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("? [a]\n: 1", "line 1: a list as a key; put it in quotes"),
        ("lr: 0.1\n? {a: b}\n: 1", "line 2: a mapping as a key"),
        (".nan: 7", "line 1: '.nan' as a key"),
        ("true: 7", "line 1: 'true' as a key"),
        ("7: 7", "no field in RunSpec '7'"),
        ("lr: 2001-12-14", "lr = '2001-12-14' is not allowed: input should be a valid number"),
        ("lr: !!int x", "line 1: 'x' is no int"),
        ("lr: !!bool x", "line 1: 'x' is no bool"),
        ("lr: !!float x", "line 1: 'x' is no float"),
        ("lr: !!timestamp x", "line 1: timestamp 'x'"),
        ("lr: !!binary aGk=", "line 1: binary 'aGk='"),
        ("lr: !!python/name:os.system", "line 1: python/name:os.system"),
        ("seed: " + "9" * 5000, "line 1: '9999"),
        ("seed: 9223372036854775808", "is beyond 64 bits"),
        ("rounds: 1000001", "rounds = 1000001 is not allowed: input should be less than or equal"),
        ("lr: " + "[" * 3000, f"more than {DEEPEST} deep"),
        ("a: &a [*a]", "line 1: an alias stands inside what it names"),
        (BOMB, f"more than {MOST:,} values, aliases followed"),
        ("lr: " + "x" * 600_000, "600,004 letters; at most 500,000 are read"),
        ('lr: "\\ud800"', "invalid Unicode character escape code"),
        ('lr: "\\e[31m"', "has a control character"),
        ("lr: 1\nlr: 2", "line 2: 'lr' is given twice"),
        ("clip: .inf", "clip = inf is not allowed: input should be a finite number"),
        ("model: {3: {}}", "model: no field in Choice '3'"),
        ("parts: 54", "parts = 54 is not allowed"),
    ],
    ids=lambda text: text[:20],
)
def test_refused_in_a_sentence(tmp_path, text, words):
    assert words in refusal(tmp_path, text)


def test_a_small_text_that_stands_for_billions_of_values_is_refused(refuses):
    with refuses("aliases followed"):
        read_value(BOMB)


def test_aliases_within_bounds_are_read():
    assert read_value("{a: &x [1, 2], b: *x}") == {"a": [1, 2], "b": [1, 2]}


def test_names_that_no_file_can_have(refuses, tmp_path):
    for name in ("x" * 300, "a\0b"):
        with refuses("cannot be read"):
            read_yaml(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "a: 1\n b: 2\n",
            "line 2: a second ':', or a line that is indented further than the field",
        ),
        ("a: b: c\n", "line 1: a second ':'"),
        ("a:\n  b: 1\n c: 3\n", "line 3: a line that is not indented as its neighbours are"),
        ("a: 1\n\tb: 2\n", "line 2: a tab; lines are indented with spaces"),
        ("a: [1\nb: 2\n", "line 2: a list without its ',' or ']'"),
        ("a: {b: 1\nc: 2\n", "line 2: a mapping without its ',' or '}'"),
        ('a: "x\nb: 2\n', "a quote that is not closed"),
        ("- 1\na: 2\n", "line 2: a field among the items of a list"),
        ("a: @x\n", "line 1: a tab, or a value that begins with a sign of YAML"),
        ("a:\n\tb: 2\n", "line 2: a tab, or a value that begins with a sign of YAML; indent"),
        ("a: *x\n", "line 1: found undefined alias 'x'"),
    ],
)
def test_a_file_that_is_no_yaml_is_told_in_plain_words(tmp_path, refuses, text, words):
    file = tmp_path / "run.yaml"
    file.write_text(text, encoding="utf-8")
    with refuses(words) as caught:
        read_yaml(file)
    assert str(caught.value).startswith(f"{file}: not valid YAML: line ")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("[DE, NO, SE, y, on, Off, YES]", ["DE", "NO", "SE", "y", "on", "Off", "YES"]),
        ("[true, False, TRUE]", [True, False, True]),
        ("[1:1, 1:10, 190:20:30.15]", ["1:1", "1:10", "190:20:30.15"]),
        ("[007, 010, -08, +1, 0x1F, 0o17]", [7, 10, -8, 1, 31, 15]),
        ("[0b11, 1_000, 1_0.5]", ["0b11", "1_000", "1_0.5"]),
        ("[1e-4, 1., -.5, .5E+1, 1e4]", [0.0001, 1.0, -0.5, 5.0, 10000.0]),
        ("[null, ~, Null, nULL]", [None, None, None, "nULL"]),
        ("[2001-12-14, 2001-12-14 21:59:43, =]", ["2001-12-14", "2001-12-14 21:59:43", "="]),
        ("['NO', \"1:10\", '010', !!str 7]", ["NO", "1:10", "010", "7"]),
        ('{on: 1, "no": 2, y: 3}', {"on": 1, "no": 2, "y": 3}),
    ],
)
def test_a_value_without_quotes_is_what_yaml_1_2_says(text, values):
    found = read_value(text)
    assert found == values
    assert list(map(type, found)) == list(map(type, values))


def test_what_is_written_is_read_as_the_same(tmp_path):
    odd = ["NO", "1:10", "010", "0o17", "1e-4", "-.5", "true", "~", "", "2001-12-14", "=", "<<"]
    content = {"text": odd, "on": dict.fromkeys(odd, 1), "plain": [True, None, 1, 1e-4, 0.5]}
    (tmp_path / "a.yaml").write_text(written(content), encoding="utf-8")
    assert read_yaml(tmp_path / "a.yaml") == content
    assert yaml.safe_load(written(content)) == content  # so do readers of YAML 1.1
