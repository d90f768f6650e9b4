"""Tests of `fedbench/work`."""
