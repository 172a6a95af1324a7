"""Stages of a pipeline, one per file."""
