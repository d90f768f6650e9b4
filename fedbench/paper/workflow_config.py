"""The settings of the workflow, as `--config` gives them; config.yaml has their defaults."""

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from fedbench.base.checks import Name, Natural, NonNegative, Strict
from fedbench.base.errors import FedbenchError, at, quoted
from fedbench.base.files import at_home


def _like(pattern: str, allowed: str) -> AfterValidator:
    """Refuses a text that the pattern does not match, saying what is allowed."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"{quoted(text)} is not allowed; {allowed}")
        return text

    return AfterValidator(check)


# They become parts of Snakemake's paths and commands.
Text = Annotated[str, _like(r"[^{}\n]*", "no { } or line break may stand in it")]
Words = Annotated[str, _like(r"[^{}\n]+", "it must not be empty, without { } and line breaks")]
Place = Annotated[Text, AfterValidator(at_home)]
Folder = Annotated[
    str,
    _like(r"[^{}*?\[\]\n]+", "it must not be empty, without { } * ? [ ] and line breaks"),
    AfterValidator(at_home),
]
Device = Annotated[str, _like(r"auto|cpu|cuda(:\d+)?", "it must be auto, cpu, cuda or cuda:1")]
Tracker = Annotated[
    str,
    _like(
        r"(mlflow(=[^{}\n]*)?)?",
        "it must be mlflow, or with an address such as mlflow=http://localhost:5000",
    ),
    AfterValidator(at_home),
]


class Settings(Strict):
    """What `--config` may set; all are there, because the file has their defaults."""

    scale: Name
    """A file in `workflow/scales`, without its ending."""
    papers: str
    """Names separated by commas; empty: all, those of your own folder among them."""
    tables: str
    """Keys of tables and figures separated by commas; empty: all."""
    train: Words
    """'all', 'none', or names of methods separated by commas."""
    results: Folder
    """The folder for runs and what is collected from them."""
    reports: Folder
    """The folder for the pages."""
    copies: Literal["all", "none"]
    """all: figures are files of their own too (SVG, PNG, PDF), and so are tables (LaTeX, Markdown);
    none: they stand in the pages, and their numbers in CSV files."""
    data_dir: Place
    """The folder of the data files; empty: FEDBENCH_DATA, else the user's cache."""
    runs_per_job: Natural
    """The most runs that share a process; 0: 96, on a cluster as many as take 20 minutes."""
    device: Device
    """Where to train: auto, cpu, cuda or cuda:1."""
    workers: Annotated[int, Field(ge=1)]
    """Threads of a process that train clients side by side; cores that a job asks for."""
    gpus: NonNegative
    """GPUs that each training job asks for, such as 1, or 0.25 where four jobs share one."""
    tracking_uri: Place
    """MLflow's place; empty: mlflow.db in the folder of the results."""
    live: Tracker
    """'mlflow' or 'mlflow=URI', to follow the rounds of runs as they train; empty: nowhere."""


def checked_settings(config: Mapping[str, Any], typed: Iterable[str] = ()) -> dict[str, Any]:
    """The settings of the workflow; raises `FedbenchError` in one sentence for any other.

    typed: each 'name=value', as it stood before Snakemake took 2024_05 for the number 202405.
    """
    if "batch_size" in config:  # its name up to version 0.1.0
        raise FedbenchError("--config: batch_size is called runs_per_job now, with the same values")
    words, values = dict(pair.split("=", 1) for pair in typed if "=" in pair), dict(config)
    texts = [name for name, field in Settings.model_fields.items() if field.annotation is str]
    for name in values.keys() & texts:
        if values[name] is None:
            values[name] = ""
        elif isinstance(values[name], int | float):
            values[name] = words.get(name, str(values[name]))
    with at("--config"):
        return Settings(**values).model_dump()
