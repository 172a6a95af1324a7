"""Loops in the graph, measured beside TensorFlow's."""
