"""Traces of runs: what each operation took, and timelines made of that."""
