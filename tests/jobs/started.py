"""A workflow in processes of its own, as users start it, that waits where it is disturbed."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress


@contextmanager
def started(folder, *words):
    """Snakemake, as users start it; nothing of it is left after the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--cores", "1", *words],
        cwd=folder,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def where_it_reads(pipe, process):
    """The block is entered when a run opens the named pipe, or when Snakemake has ended.

    Opening a pipe waits for the other end, so nothing here depends on how fast the machine is.
    """

    def release():
        process.wait()
        os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))

    waiting = threading.Thread(target=release)
    waiting.start()
    with pipe.open("wb"):
        yield
    waiting.join()


def wait_for(words, file):
    """Wait until the words are in the file."""
    end = time.monotonic() + 120
    while not (file.exists() and words in file.read_text()):
        assert time.monotonic() < end, f"{file} does not say '{words}'"
        time.sleep(0.05)
