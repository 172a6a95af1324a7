"""Sparse tensors, and conversion to dense tensors."""
