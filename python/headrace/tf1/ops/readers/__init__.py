"""Readers as nodes of a graph, and whole files."""
