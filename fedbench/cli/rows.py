"""Prints rows as a table in the terminal."""

from rich.table import Table

from fedbench.cli.app import console


def print_rows(rows: list[dict[str, str]]) -> None:
    """Print rows of the same keys, which stand above the columns."""
    table = Table(*(rows[0] if rows else ["nothing"]))
    for row in rows:
        table.add_row(*row.values())
    console.print(table)
