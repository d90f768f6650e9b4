"""What a Snakemake rule calls: train a batch of runs, collect them, mirror them into MLflow."""
