# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
# ---

# %% [markdown]
# # A first experiment
#
# How much does skewed data cost, and does a momentum at the server help? Twenty clients share 1,442
# images of digits; five of them train in each round. This page is the notebook `docs/notebook.py`
# with what it printed when the site was built. Jupyter opens the file with Jupytext, and
# `python docs/notebook.py` runs it.

# %%
import pandas as pd

from fedbench import RunSpec, compare, run

settings = {
    "normalise": True,
    "model": {"mlp": {"hidden": 32}},
    "clients": 20,
    "participation": 0.25,
    "rounds": 15,
    "batch": 10,
    "lr": 0.05,
    "weights": "uniform",  # clients are mixed alike; "samples": by their numbers of samples
}
base = RunSpec(dataset="digits", **settings)
print(base)

# %% [markdown]
# A spec is frozen; `changed` gives another one. Each has an identity, which follows from its
# settings, and from files of your own that it uses: equal settings are the same run.

# %%
splits = {"IID": "iid", "skewed": {"dl": {"alpha": 0.1}}}
methods = {"FedAvg": [], "SlowMo": [{"slowmo": {"beta": 0.7}}]}
specs = {
    (split, method): base.changed(partition=splits[split], parts=methods[method])
    for split in splits
    for method in methods
}
for spec in specs.values():
    print(spec.id)

# %% [markdown]
# `run` trains one of them. The result has a history with one row per evaluated round, the final
# weights, and the record that the command line would have written to `run.json`.

# %%
results = {name: run(spec) for name, spec in specs.items()}
print(results["skewed", "FedAvg"])
print(results["skewed", "FedAvg"].history[["round", "accuracy", "loss", "train_loss"]].tail(3))

# %% [markdown]
# One column per run makes a table and a picture. Accuracies are fractions of 1.

# %%
accuracy = pd.DataFrame(
    {
        f"{method}, {split}": result.history.set_index("round")["accuracy"]
        for (split, method), result in results.items()
    }
)
print(accuracy.loc[[1, 5, 10, 15]].round(3).to_string())
axes = accuracy.plot(figsize=(7, 3.5), ylabel="Test accuracy", xlabel="Communication round")

# %% [markdown]
# One seed shows how to do it, not what is true. `compare` trains a grid with several seeds, as many
# runs side by side as there are cores; what is finished is never trained again. With
# `tune={"lr": [0.03, 0.1]}` each method would have the same search. A paper's file can ask for
# more, and judge claims: [your own paper](howto/paper.md) shows how.

# %%
board = compare(["FedAvg", "SlowMo"], partitions=["iid", "dl:alpha=0.1"], seeds=2, **settings)
print(board.leaderboard())
board.plot()

# %% [markdown]
# ## How skewed is skewed?
#
# Every run says what its clients held: the table `clients` has one row per client and class.

# %%
held = results["skewed", "FedAvg"].tables["clients"]
classes = held[held["count"] > 0].groupby("client").size()
print(f"classes per client: {classes.min()} to {classes.max()}, median {classes.median():.0f}")
