"""How many classes each client holds, from the table of label counts that every run writes."""

import pandas as pd


def holdings(clients: pd.DataFrame) -> pd.DataFrame:
    """One row per client: client, samples, classes; as 0 or 1, `few` (≤ 2 classes), `many` (≥ 4).

    `clients` has a row for each class that a client holds: client, label, count.
    """
    if clients.empty:
        return clients
    own = clients.groupby("client")["count"].agg(samples="sum", classes="size").reset_index()
    return own.assign(few=(own["classes"] <= 2).astype(int), many=(own["classes"] >= 4).astype(int))
