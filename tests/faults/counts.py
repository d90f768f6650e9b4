"""What the tests of faults have done and seen, for the lines at the end."""

from collections import Counter

COUNTS: Counter[str] = Counter()
NAMES = ("kills", "faults", "files checked", "bytes that differ", "runs lost", "dead ends")
