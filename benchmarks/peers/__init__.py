"""Other simulators, each run by the Python of its own environment, without fedbench."""
