"""What a rule of the workflow calls: train runs, collect their histories, copy them into MLflow."""
