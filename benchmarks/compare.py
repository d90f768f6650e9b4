"""Measures fedbench beside a bare PyTorch loop and other simulators, in one run.

    python benchmarks/compare.py                        # measure everything
    python benchmarks/compare.py --only W1,peers --quick --repeats 2 --out /tmp/speed

W1: 100 clients with 500 random 3×32×32 images each, 10 per round, one local epoch, batch 50,
LeNet-5, SGD 0.1, FedAvg, no evaluation. W2: the same with S-CNN. W3, W4, W5: 600 images of 28×28,
2NN, logistic regression and MLP. Every number comes from a process
of its own; what is compared is measured in turn. `docs/speed.md` says how to read the results.
"""

import argparse
from pathlib import Path

from speed.report import about, write
from speed.sections import NAMES, Effort, chosen
from speed.turns import Row


def main() -> None:
    """Measure what is asked for; each row is printed and written as soon as it is known."""
    args = _arguments()
    effort = Effort(args.repeats, share=0.4 if args.quick else 1.0)
    facts, rows = about(effort.repeats), list[Row]()
    for row in chosen(args.only, effort):
        rows.append(row)
        write(args.out, rows, facts)
        seconds = f"{row.seconds.median:.3f} s per round" if row.seconds else row.note
        print(f"{row.section}: {row.name}: {seconds}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", type=_names, default=set(NAMES), help=f"some of {','.join(NAMES)}; all by default"
    )
    parser.add_argument("--repeats", type=_count, default=5, help="5 by default")
    parser.add_argument("--quick", action="store_true", help="fewer rounds in each repeat")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    return parser.parse_args()


def _names(text: str) -> set[str]:
    names = set(text.split(","))
    if unknown := names - set(NAMES):
        allowed = ", ".join(NAMES)
        raise argparse.ArgumentTypeError(f"{sorted(unknown)[0]!r} is none of {allowed}")
    return names


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


if __name__ == "__main__":
    main()
