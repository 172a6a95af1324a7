"""Numeric operations for graphs only: segments, bits, checks."""
