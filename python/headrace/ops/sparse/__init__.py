"""Sparse tensors, and dense ones made of them."""
