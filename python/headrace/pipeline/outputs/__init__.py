"""Batches for other libraries: PyTorch tensors, JAX arrays and Arrow record batches.

None of these libraries is imported until it is used.
"""
