"""What a metric is called, its unit, and which direction is better."""

from dataclasses import dataclass

from fedbench.paper.columns import SCORES, meaning
from fedbench.paper.items import Table
from fedbench.paper.places import Target, reading

_PLAIN = ("", "fraction")  # units that are not written behind a label
_MOMENTS = {
    "final": "final", "best": "best", "mean": "mean", "median": "median",
    "std": "standard deviation over the rounds", "jumps": "mean change between rounds",
}  # fmt: skip
_MODELS = {  # names that parts give to the models that they score, beside the headline
    "two": "the mean of the last two models",
    "all": "the mean of all clients' models",
    "selected": "the mean of the cohort's models",
    "next": "the model of the next round",
}
_VARYING = ("std", "jumps")
_COUNTED = {"round": "Rounds", "best_round": "Rounds"}  # labels of what is counted up to a target


def column_label(table: str, column: str) -> str:
    """The label of a column of a probe's table."""
    return _label(f"{table}/{column}")


def _label(name: str) -> str:
    """The declared label and its unit; the name itself if the column is not declared."""
    label, unit, _ = meaning(name) or (name, "", "")
    return label if unit in _PLAIN else f"{label} ({unit})"


def _words(target: Target) -> str:
    """'45 % accuracy', 'loss 0.3'."""
    metric = Metric(target.column)
    if metric.is_score:
        return f"{100 * target.value:g} % {metric.label.lower()}"
    return f"{metric.label.lower()} {target.value:g}"


@dataclass(frozen=True)
class Metric:
    """A column of a collected frame and the moment it is read at: `val_accuracy[two]@best`.

    What a column means is declared by the probe that writes it, or in `paper/columns` for those of
    the engine. A column without a declaration has its name for a label and is not ranked.
    """

    name: str

    @property
    def _base(self) -> str:
        return self.name.partition("@")[0].removeprefix("val_").partition("[")[0]

    @property
    def _varies(self) -> bool:
        """Whether it measures how much a curve varies."""
        return self.name.partition("@")[2].partition(":")[0] in _VARYING

    @property
    def target(self) -> Target | None:
        """What is to be reached, of a metric such as `round@to:0.45`; None of all others."""
        return reading(self.name).target

    @property
    def is_score(self) -> bool:
        """Whether it is a fraction of 1 that may be shown in percent."""
        return (meaning(self._base) or ("", "", ""))[1] == "fraction"

    @property
    def is_in_points(self) -> bool:
        """Whether its differences are shown in percentage points."""
        return self.is_score or (meaning(self._base) or ("", "", ""))[1] == "percentage points"

    @property
    def unit_of_differences(self) -> str:
        """Points, rounds, s, MB and the like; empty if it has no unit."""
        if self._base in _COUNTED:
            return "rounds"
        return "points" if self.is_in_points else (meaning(self._base) or ("", "", ""))[1]

    @property
    def is_of_a_model(self) -> bool:
        """Whether it scores a model, which is done in every evaluated round."""
        return self._base in SCORES

    @property
    def is_of_labels(self) -> bool:
        """Whether it scores predicted labels, so that guessing gives one over their number."""
        return self._base in ("accuracy", "macro_f1") and not self._varies

    @property
    def _better(self) -> str:
        return (meaning(self._base) or ("", "", ""))[2]

    @property
    def lower_is_better(self) -> bool:
        """Whether lower values are better.

        They are of how much a curve varies, and of what it takes to reach a target.
        """
        spent = self.target is not None and self._better == ""
        return self._varies or spent or self._better == "lower"

    @property
    def is_ranked(self) -> bool:
        """Whether one value is better than another."""
        return self._better != "" or self.target is not None

    @property
    def label(self) -> str:
        """What readers are shown: the column's label, the model and the moment."""
        if self.target:
            return f"{_COUNTED.get(self._base) or _label(self._base)} until {_words(self.target)}"
        text = _label(self._base)
        text = f"Validation {text.lower()}" if self.name.startswith("val_") else text
        name, _, at = self.name.partition("@")
        if model := name.partition("[")[2].rstrip("]"):
            text += f" of {_MODELS.get(model, f'the model {model!r}')}"
        if not at:
            return text
        word, _, last = at.partition(":")
        if word == "last":
            return f"{text}, mean of the last {last} evaluations"
        if word not in _MOMENTS:
            return f"{text} at round {at}"
        within = f" (last {last} rounds)" if last else ""
        return f"{text}, {_MOMENTS[word]}{within}"

    def factor(self, table: Table) -> float:
        """What a value of the frame is multiplied by for the table."""
        return 100.0 if self.is_score and table.unit == "percent" else 1.0

    def points(self, table: Table) -> float:
        """What a value of the table is multiplied by for a difference; scores then are points."""
        return 100.0 if self.is_score and table.unit == "fraction" else 1.0

    def point_digits(self, table: Table) -> int:
        """Decimals of a difference that match the decimals of the table."""
        return table.digits - 2 if self.points(table) > 1 and table.digits > 2 else table.digits
