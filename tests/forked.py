"""A Python that is forked from one that has imported everything: it starts at once, not in seconds.

`python()` is the path of a program that takes `-m fedbench …` and `-m snakemake …` as Python does.
Snakemake and the commands of its rules are then forked from a server that lives as long as the
tests do. Everything else, and what shall be started as users start it, is for the real Python.
"""

import atexit
import functools
import gc
import importlib
import json
import os
import runpy
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

ASK = Path(__file__).with_name("ask.py")
# What Snakemake, the Snakefile and the commands of the rules import
IMPORTED = (
    *("snakemake.cli", "snakemake.workflow", "mlflow.tracking", "fedbench.__main__"),
    *("fedbench.jobs.train", "fedbench.jobs.collect", "fedbench.jobs.progress"),
    *("fedbench.jobs.mlflow", "fedbench.plan.plan_file", "fedbench.report"),
)


@functools.cache
def python() -> Path:
    """The program; its server is started when it is asked for, and ends with this process."""
    place = Path(tempfile.mkdtemp(prefix="forked-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(f"{place}/door")
        door.listen()
        number = door.fileno()
        command = [sys.executable, "-m", "tests.forked", str(number)]
        server = subprocess.Popen(
            command, cwd=ASK.parent.parent, stdin=subprocess.PIPE, pass_fds=[number]
        )
    atexit.register(server.communicate)  # closes its input, at which it ends
    program = place / "python"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{ASK}" "{place}/door" "$@"\n')
    program.chmod(0o755)
    return program


def serve(door: socket.socket) -> None:
    """Fork for everybody who comes to the door, until whoever started this has ended."""
    for name in IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    while sys.stdin not in select.select([door, sys.stdin], [], [])[0]:
        asking, _ = door.accept()
        if os.fork() == 0:
            door.close()
            answer(asking)
        asking.close()
        bury()


def bury() -> None:
    """Take notice of the children that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def answer(asking: socket.socket) -> None:
    """Be the process that was asked for, to its end; then tell its exit code."""
    _, files, *_ = socket.recv_fds(asking, 1, 3)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    wanted = json.loads(asking.makefile().readline())
    os.environ.clear()
    os.environ.update(wanted["environment"])
    os.chdir(wanted["folder"])
    sys.argv[1:] = wanted["args"][2:]
    sys.executable = wanted["python"]  # which the rules of the workflow call
    code = executed(wanted["args"][1])
    asking.send(bytes([code]))
    os._exit(code)


def executed(module: str) -> int:
    """The exit code of `python -m MODULE`."""
    code: object = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # as Python does
        traceback.print_exc()
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    return code if isinstance(code, int) else int(code is not None)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
