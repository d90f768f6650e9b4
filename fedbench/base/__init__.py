"""What all packages use: errors, checks, files, YAML, the registry. No federation, no torch."""
