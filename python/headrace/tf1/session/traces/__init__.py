"""Traces of runs: the time that each operation took, and timelines of them."""
