"""What a person types and reads in a terminal."""
