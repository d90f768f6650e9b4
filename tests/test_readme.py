"""What the README shows runs, and gives what it says."""

import re

from tests.project import ROOT

BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_the_first_example_learns_and_tells_two_methods_apart(capsys):
    exec(BLOCKS[0], {})  # noqa: S102  # the README's own code
    fedavg, fedadc = (
        [float(number) for number in re.findall(r"0\.\d+", line)]
        for line in capsys.readouterr().out.splitlines()
    )
    assert min(fedavg[-1], fedadc[-1]) > 0.9
    assert fedadc[1] > fedavg[1] + 0.1  # after the eighth round


def test_the_example_by_hand_stays_at_four(capsys):
    exec(BLOCKS[1], {})  # noqa: S102
    assert "4." in capsys.readouterr().out


def test_the_method_shown_is_the_one_in_the_package():
    source = (ROOT / "fedbench/methods/fedprox.py").read_text()
    assert "mu: NonNegative = 0.01  # 0 is FedAvg" in BLOCKS[2]
    assert "mu: NonNegative = 0.01  # 0 is FedAvg" in source
