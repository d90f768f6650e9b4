"""What a method is written with: flat vectors, parts, rounds, optimisers."""
