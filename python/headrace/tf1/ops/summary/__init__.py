"""Summaries for TensorBoard."""
