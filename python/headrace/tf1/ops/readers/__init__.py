"""Readers in a graph, and operations on whole files."""
