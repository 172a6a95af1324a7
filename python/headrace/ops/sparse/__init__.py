"""Sparse tensors, and their conversion to dense ones."""
