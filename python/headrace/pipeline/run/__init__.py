"""Iterations over a pipeline: batches, states, statistics and what is reported."""
