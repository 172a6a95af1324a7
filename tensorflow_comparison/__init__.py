"""Runs a table of programs with TensorFlow and with headrace, and compares their results."""
