"""Ranks and readers that divide a pipeline, and the files that each of them reads."""
