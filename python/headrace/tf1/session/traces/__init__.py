"""Run traces: the time of each operation, and timelines."""
