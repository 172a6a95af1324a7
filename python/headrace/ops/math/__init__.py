"""Arithmetic, comparisons, conversions of type and reductions."""
