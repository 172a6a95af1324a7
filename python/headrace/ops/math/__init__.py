"""Arithmetic, comparisons, type conversions and reductions."""
