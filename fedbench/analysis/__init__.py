"""What is computed on models and gradients, for the probes."""
