"""Entries of a state, each with its own check."""
