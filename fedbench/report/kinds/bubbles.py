"""Which client holds how much of which class."""

from dataclasses import dataclass

from fedbench.checked import Checked, Natural


@dataclass(frozen=True)
class Bubbles(Checked):
    """A bubble a class and client, of one run a panel; `first` shows so many clients (0: all)."""

    first: Natural = 30
