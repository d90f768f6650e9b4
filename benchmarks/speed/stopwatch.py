"""The clock of a measured process. The peers use it too, so it needs nothing but Python.

After the warm-up rounds the process prints that it is ready and waits for a line on its standard
input, so that several processes begin their timed rounds at the same moment.
"""

import json
import resource
import sys
import time

READY, DONE = "@ready", "@done"  # how the lines begin that the parent process looks for


class Stopwatch:
    """Times rounds: `lap` is called after each, until the stopwatch is `over`."""

    def __init__(self, rounds: int, warm: int = 1) -> None:
        self.total = warm + rounds
        self._warm, self._laps, self._ends = warm, 0, [0.0]

    @property
    def over(self) -> bool:
        """Whether all rounds have been made."""
        return self._laps == self.total

    def lap(self) -> None:
        """A round has ended."""
        self._laps += 1
        if self._laps == self._warm:
            print(READY, flush=True)
            sys.stdin.readline()
            self._ends = [time.monotonic()]
        elif self._laps > self._warm:
            self._ends.append(time.monotonic())

    def report(self, **more: object) -> None:
        """Print when each timed round ended, the first entry being the begin, and peak memory.

        The clock is the system's, so that the times of several processes can be compared.
        """
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(DONE, json.dumps({"ends": self._ends, "peak_bytes": peak, **more}), flush=True)
