"""Iterations over a pipeline: batches, states, statistics and reports."""
