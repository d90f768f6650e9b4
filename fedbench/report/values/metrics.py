"""What a metric is called, its unit, and whether more of it is better."""

from dataclasses import dataclass

from fedbench.paper.items import Table

_COLUMN_LABELS = {
    "cosine": "Cosine to the mean gradient", "projection": "Length along the mean gradient",
    "momentum_cosine": "Cosine to the mean momentum",
    "momentum_projection": "Length along the mean momentum",
    "step": "Local step", "round": "Communication round", "bias": "Bias of the gradient",
}  # fmt: skip


def column_label(name: str) -> str:
    """The name as a reader expects it."""
    return _COLUMN_LABELS.get(name, name.replace("_", " ").capitalize())


_LABELS = {
    "accuracy": "Accuracy", "macro_f1": "Macro-F1", "eta": "Learning rate",
    "best_round": "Round of the best", "round_seconds": "Seconds a round",
    "hessian_top": "Top eigenvalue", "hessian_trace": "Trace",
    "step_norm": "Norm of the global step", "personal_global": "Global model",
    "personal_none": "Last layer retrained", "personal_prox": "Retrained, proximal term",
    "personal_distil": "Retrained, self-distillation", "train_loss": "Training loss",
    "angle_mean": "Angle to the last global step (°)", "s_mean": "Scaling s, mean",
    "angle_share_obtuse": "Share of angles above 90°", "update_cosine": "Cosine of global steps",
    "residual_variance": "Variance of the residuals", "scaled_variance": "Variance, scaled",
    "delta_variance": "Variance of the updates", "dissimilarity": "Gradient dissimilarity",
    "local_accuracy": "Accuracy of a client's model, mean over the round's clients",
    "silhouette": "Silhouette score",
    "silhouette_local": "Silhouette score of a client's model",
    "personal_gain_lowest": "Lowest gain", "personal_gain_highest": "Highest gain",
    "personal_gain_whole_lowest": "Lowest gain over the whole test set",
    "personal_gain_whole_highest": "Highest gain over the whole test set",
    "update_variance": "Variance of the global steps",
    "residual_relative_variance": "Variance of the residuals, relative",
    "scaled_relative_variance": "Variance, scaled, relative",
    "delta_relative_variance": "Variance of the updates, relative",
    "update_relative_variance": "Variance of the global steps, relative",
    "update_similarity": "Cosine of the updates to their mean",
    "momentum_cosine": "Cosine of the momenta to their mean",
    "gradient_bias": "Bias of the gradients",
    "holdings/few": "Share of clients with one or two classes",
    "holdings/many": "Share of clients with four or more classes",
}  # fmt: skip
# Neither more nor less is better.
_UNRANKED = (
    *("angle_mean", "angle_share_obtuse", "s_mean", "update_cosine", "best_round"),
    *("delta_variance", "residual_variance", "scaled_variance"),  # they grow with the step's length
)
_LOSSES = ("loss", "seconds", "floats", "hessian", "variance")
_FRACTIONS = ("personal_", "local_accuracy")
_MOMENTS = {
    "final": "final", "best": "best", "mean": "mean", "median": "median",
    "std": "standard deviation over the rounds", "jumps": "mean change between rounds",
}  # fmt: skip
_VARYING = ("std", "jumps")


@dataclass(frozen=True)
class Metric:
    """A column of a collected frame: `accuracy`, `val_macro_f1`, `accuracy[mean]`, `loss`."""

    name: str

    @property
    def _base(self) -> str:
        return self.name.partition("@")[0].removeprefix("val_").partition("[")[0]

    @property
    def is_score(self) -> bool:
        """Whether it is a fraction of 1 that may be shown in percent."""
        return self._base in ("accuracy", "macro_f1") or self._base.startswith(_FRACTIONS)

    @property
    def lower_is_better(self) -> bool:
        """True for losses, seconds and traffic, and for how much a curve varies."""
        if self.name.partition("@")[2].partition(":")[0] in _VARYING:
            return True
        return any(word in self._base for word in _LOSSES)

    @property
    def is_ranked(self) -> bool:
        """Whether one value is better than another."""
        return self._base not in _UNRANKED

    @property
    def label(self) -> str:
        """The name as a reader expects it."""
        text = _LABELS.get(self._base, self._base.replace("_", " ").capitalize())
        text = f"Validation {text.lower()}" if self.name.startswith("val_") else text
        name, _, at = self.name.partition("@")
        text += f" [{name.partition('[')[2]}" if "[" in name else ""
        if not at:
            return text
        word, _, last = at.partition(":")
        if word not in _MOMENTS:
            return f"{text} at round {at}"
        within = f" (last {last} evaluations)" if last else ""
        return f"{text}, {_MOMENTS[word]}{within}"

    def factor(self, table: Table) -> float:
        """From the frame's unit to the table's."""
        return 100.0 if self.is_score and table.unit == "percent" else 1.0

    def points(self, table: Table) -> float:
        """From the table's unit to the unit of a difference: percentage points for scores."""
        return 100.0 if self.is_score and table.unit == "fraction" else 1.0

    def point_digits(self, table: Table) -> int:
        """Decimals of a difference that match the decimals of the table."""
        return table.digits - 2 if self.points(table) > 1 and table.digits > 2 else table.digits
