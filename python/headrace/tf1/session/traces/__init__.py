"""Traces of runs: the time of each operation, and timelines."""
