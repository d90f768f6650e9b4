"""The lines at the end: what was disturbed, how often, and what came of it."""

from tests.faults.counts import COUNTS, NAMES


def pytest_sessionfinish(session):
    """A process of pytest-xdist hands its counts to the one that prints."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["faults"] = dict(COUNTS)


def pytest_testnodedown(node):
    COUNTS.update(getattr(node, "workeroutput", {}).get("faults", {}))


def pytest_terminal_summary(terminalreporter):
    if COUNTS:
        said = ", ".join(f"{name} {COUNTS[name]:,}" for name in NAMES)
        terminalreporter.write_line(f"faults: {said}")
