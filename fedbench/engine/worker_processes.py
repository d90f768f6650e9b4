"""Worker processes that train the clients of small networks, whose threads wait for each other."""

import ctypes
import io
import pickle
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from mmap import mmap
from multiprocessing import Pipe, get_context
from multiprocessing.util import Finalize
from typing import Any

import torch
from torch import Tensor

from fedbench.base.errors import FedbenchError
from fedbench.base.signals import SIGNALS
from fedbench.core.round_data import Federation
from fedbench.engine.problem import ClientResult, PreparedClient

Group = Sequence[PreparedClient]
Train = Callable[[Group], list[ClientResult]]
_DIE_WITH_PARENT = 1  # prctl's PR_SET_PDEATHSIG
_SHARED = 2**26  # bytes of memory for each way of each worker; what is not used costs nothing


class Processes:
    """The process itself and `count` - 1 forks of it, made by the first `map`: they call `train`.

    What stays the same in a run is in them from the start; the rest is sent in every round.
    """

    def __init__(self, train: Train, count: int) -> None:
        self._train, self._count = train, count
        self._workers: list[_Worker] = []

    def map(self, groups: Sequence[Group]) -> list[list[ClientResult]]:
        """What `train` returns for each group; raises what it raised, and is not called again."""
        if not self._workers:
            fed = next((t.fed for t in groups[0][0].turns), None)
            self._workers = [_Worker(self._train, fed) for _ in range(1, self._count)]
            Finalize(self, _end, (self._workers,), exitpriority=1)  # before daemons get SIGTERM
        answers: list[list[ClientResult]] = [[] for _ in groups]
        try:
            for n, worker in enumerate(self._workers, 1):
                with suppress(BrokenPipeError):  # the answer says so
                    worker.questions.send(groups[n :: self._count])
            answers[:: self._count] = map(self._train, groups[:: self._count])
            for n, worker in enumerate(self._workers, 1):
                answers[n :: self._count] = worker.answer()
        except BaseException:  # the others are at work
            _end(self._workers)
            raise
        return answers


class _Channel:
    """A way between processes: a pipe, and shared memory for tensors until the next value."""

    def __init__(self) -> None:
        self.receiver, self.sender = Pipe(duplex=False)
        self._memory = memoryview(mmap(-1, _SHARED))

    def send(self, value: object) -> None:
        places, stream = [(0, 0)], io.BytesIO()

        def goes_through_pipe(buffer: pickle.PickleBuffer) -> bool:
            first = places[-1][1]
            last = first + buffer.raw().nbytes
            if last > _SHARED:
                return True
            self._memory[first:last] = buffer.raw()
            places.append((first, last))
            return False

        _Pickler(stream, pickle.HIGHEST_PROTOCOL, buffer_callback=goes_through_pipe).dump(value)
        self.sender.send((places[1:], stream.getvalue()))

    def receive(self, fed: Federation | None = None) -> Any:
        """What was sent next, copied; raises `EOFError` if the other process has ended."""
        places, content = self.receiver.recv()
        tensors = [bytearray(self._memory[first:last]) for first, last in places]
        reader = pickle.Unpickler(io.BytesIO(content), buffers=tensors)  # noqa: S301  # our own
        reader.persistent_load = lambda _: fed  # type: ignore[method-assign]
        return reader.load()


class _Worker:
    def __init__(self, train: Train, fed: Federation | None) -> None:
        self.questions, self.answers = _Channel(), _Channel()
        self.process = get_context("fork").Process(
            target=_serve, args=(train, fed, self.questions, self.answers), daemon=True
        )
        self.process.start()
        self.questions.receiver.close()  # a pipe ends with its last user
        self.answers.sender.close()

    def answer(self) -> list[list[ClientResult]]:
        """What it found; raises what it raised."""
        try:
            answer = self.answers.receive()
        except EOFError:
            raise FedbenchError(
                "a worker process was ended by the system, as it does when memory runs out; give "
                "the run fewer workers"
            ) from None
        if isinstance(answer, Exception):
            raise answer
        found: list[list[ClientResult]] = answer
        return found


def _end(workers: list[_Worker]) -> None:
    while workers:
        process = workers.pop().process
        process.kill()
        process.join()


def _serve(train: Train, fed: Federation | None, questions: _Channel, answers: _Channel) -> None:
    """Train what is asked for; signals are for the process that forked this one, which ends it."""
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    ctypes.CDLL("libc.so.6").prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    torch.set_num_threads(1)
    while True:
        groups = questions.receive(fed)
        try:
            answers.send([train(group) for group in groups])
        except Exception as error:  # which the other process raises
            answers.send(error)


class _Pickler(pickle.Pickler):
    """Tensors as arrays, a client's batches as one: a tenth of the time. Names the federation."""

    def persistent_id(self, obj: Any) -> str | None:
        return "fed" if isinstance(obj, Federation) else None

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, PreparedClient) and obj.rows:
            sizes = [len(batch) for batch in obj.rows]
            views = torch.cat(obj.views) if obj.views else None
            rest = replace(obj, rows=[], views=None)
            return _client, (rest, torch.cat(obj.rows), views, sizes)
        if isinstance(obj, Tensor) and obj.dtype != torch.bfloat16:
            return torch.from_numpy, (obj.numpy(),)
        return NotImplemented


def _client(
    rest: PreparedClient, rows: Tensor, views: Tensor | None, sizes: list[int]
) -> PreparedClient:
    own = None if views is None else list(torch.split(views, sizes))
    return replace(rest, rows=list(torch.split(rows, sizes)), views=own)
