"""What every room stands on: errors, checks, files, the registry. No federation, no torch."""
