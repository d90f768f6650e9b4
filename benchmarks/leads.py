"""How often is a method called ahead or behind that is not? Simulates arenas without any lead.

    python benchmarks/leads.py [--arenas 200] [--methods 53]

Each line is a number of seeds, each column how far the seeds scatter the methods: all alike; each
differently (variances 2.6/χ²(2.6), about as in the published arena); a tenth of the methods three
times as far; the base alone three times as far. The numbers are the share of arenas, in percent, in
which any interval of `fedbench.report.values.leads` misses the true lead, 0; 5 % are allowed.
"""

import argparse

import numpy as np
import pandas as pd

from fedbench.report.values.leads import leads

SEEDS = (2, 3, 6)
BASE = "M0"
Variances = dict[str, np.ndarray]


def variances(rng: np.random.Generator, methods: int) -> Variances:
    """The methods' variances, by what they are; the first is that of the base."""
    wild = np.arange(methods) >= methods - max(1, methods // 10)
    return {
        "alike": np.ones(methods),
        "each differently": 2.6 / rng.chisquare(2.6, methods),
        "a tenth ×3": np.where(wild, 9.0, 1.0),
        "base ×3": np.where(np.arange(methods) == 0, 9.0, 1.0),
    }


def misses(rng: np.random.Generator, seeds: int, variance: np.ndarray) -> bool:
    """Whether any interval of an arena without leads leaves out 0."""
    names = [f"M{n}" for n in range(len(variance))]
    drawn = rng.normal(0, np.sqrt(variance), (seeds, len(variance)))
    found = leads(pd.DataFrame(drawn, columns=names), BASE)
    return found is not None and any(found.tells(name) for name in names)


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--arenas", type=int, default=200, help="how many are drawn per number")
    parser.add_argument("--methods", type=int, default=53, help="how many an arena has")
    asked, rng = parser.parse_args(), np.random.default_rng(0)
    share = {
        f"{seeds} seeds": pd.DataFrame(
            {name: misses(rng, seeds, each) for name, each in variances(rng, asked.methods).items()}
            for _ in range(asked.arenas)
        ).mean()
        for seeds in SEEDS
    }
    print((100 * pd.DataFrame(share).T).round(1).to_string())


if __name__ == "__main__":
    main()
