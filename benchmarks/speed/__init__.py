"""Measures fedbench beside a bare PyTorch loop and other simulators."""
