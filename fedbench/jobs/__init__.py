"""What is done with the runs of a plan: train, collect, copy into MLflow, publish, restore."""
