"""Trains one run: the only training loop."""
