"""Stages of a pipeline, one file for each."""
