"""What methods are written with: flat vectors, parts, rounds, optimisers."""
