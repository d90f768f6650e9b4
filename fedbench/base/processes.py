"""Which processes of this machine live."""

import os


def alive(pid: int) -> bool:
    """Whether a process of this machine has the number `pid`."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True
