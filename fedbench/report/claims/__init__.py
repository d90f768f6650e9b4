"""From a claim to its verdict: sides, expand, comparisons, evidence, tests, judge, finding."""
