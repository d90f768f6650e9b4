"""Shares the parts of a report among processes; any number of them gives the same bytes."""

from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from fedbench.base.errors import FedbenchError
from fedbench.report.builder import Builder, Made, Task

_builder: Builder | None = None  # of a process of the pool


def make_all(builder: Builder, todo: list[Task], workers: int) -> dict[Task, Made]:
    """Make every part, in this process or in so many others.

    Raises `FedbenchError` if the system ends one of them.
    """
    if workers == 1:
        return {task: builder.make(task) for task in todo}
    # Tables of facts may load torch, which takes seconds: one process does all of them.
    mine = [task for task in todo if task.kind == "fact"]
    others = [task for task in todo if task.kind != "fact"]
    try:
        with ProcessPoolExecutor(workers, initializer=_open, initargs=(builder,)) as pool:
            promised = {task: pool.submit(_make, task) for task in others}
            made = {task: builder.make(task) for task in mine}
            made |= {task: promise.result() for task, promise in promised.items()}
    except BrokenProcessPool:
        raise FedbenchError(
            f"one of {workers} processes that write the report was ended by the system, perhaps "
            "for want of memory; start it again with fewer workers"
        ) from None
    return {task: made[task] for task in todo}


def _open(builder: Builder) -> None:
    global _builder
    _builder = builder


def _make(task: Task) -> Made:
    if _builder is None:
        raise RuntimeError("the process was started without a builder")
    return _builder.make(task)
