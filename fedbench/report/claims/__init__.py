"""From a paper's claims to verdicts, on the numbers that it prints and on those measured here.

In the order of the work: `expand` turns a claim into a tree of `comparisons`, whose `sides` are
points of a grid; `evidence` gives the numbers; `tests` puts bounds on an effect, the `Limit` of a
comparison decides it by them, and `judge` decides the claim. `finding` holds the result, `page`
shows it, in the words of the templates.
"""
