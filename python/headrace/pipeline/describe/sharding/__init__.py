"""Ranks and readers that share a pipeline, and the files that each of them reads."""
