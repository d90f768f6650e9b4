"""How often is a lead called significant that is none? Simulates arenas without any lead.

    python benchmarks/leads.py [--arenas 300] [--methods 53]

Each line is a number of seeds in each of two settings, each column how the seeds scatter the
methods: all alike; each differently (variances 2.6/χ²(2.6), about as in the published arena); a
tenth of the methods three times as far; the base alone three times as far; and methods of which one
run in fifty collapses by 20 deviations. The numbers are the share of arenas, in percent, in which
`fedbench.report.values.leads` calls any lead significant; 5 % are allowed.
"""

import argparse

import numpy as np
import pandas as pd

from fedbench.report.values.leads import leads

SEEDS, SETTINGS = (3, 5), 2
BASE = "M0"


def arenas(rng: np.random.Generator, pairs: int, methods: int) -> dict[str, np.ndarray]:
    """The values of an arena (pairs × methods) by how its seeds scatter them."""
    wild = np.arange(methods) >= methods - max(1, methods // 10)
    variances = {
        "alike": np.ones(methods),
        "each differently": 2.6 / rng.chisquare(2.6, methods),
        "a tenth ×3": np.where(wild, 9.0, 1.0),
        "base ×3": np.where(np.arange(methods) == 0, 9.0, 1.0),
    }
    drawn = {k: rng.normal(0, np.sqrt(each), (pairs, methods)) for k, each in variances.items()}
    collapses = 20.0 * (rng.random((pairs, methods)) < 0.02)
    return drawn | {"collapse now and then": rng.normal(0, 1, (pairs, methods)) - collapses}


def alarms(values: np.ndarray, seeds: int) -> bool:
    """Whether any lead of an arena without leads is called significant."""
    names = [f"M{n}" for n in range(values.shape[1])]
    index = pd.MultiIndex.from_product([range(SETTINGS), range(seeds)])
    found = leads(pd.DataFrame(values, index, names), BASE)
    return found is not None and any(found.tells(name) for name in names)


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--arenas", type=int, default=300, help="how many are drawn per number")
    parser.add_argument("--methods", type=int, default=53, help="how many an arena has")
    asked, rng = parser.parse_args(), np.random.default_rng(0)
    share = {
        f"{seeds} seeds": pd.DataFrame(
            {
                name: alarms(values, seeds)
                for name, values in arenas(rng, SETTINGS * seeds, asked.methods).items()
            }
            for _ in range(asked.arenas)
        ).mean()
        for seeds in SEEDS
    }
    print((100 * pd.DataFrame(share).T).round(1).to_string())


if __name__ == "__main__":
    main()
