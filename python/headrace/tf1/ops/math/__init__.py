"""Numeric operations that only graphs have: segments, bits, checks."""
