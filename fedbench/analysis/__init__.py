"""What is computed on a trained model."""
