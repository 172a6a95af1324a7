"""Batches for other libraries: tensors of PyTorch, arrays of JAX, record batches of Arrow.

None of these libraries is imported before it is used.
"""
