"""Batches as other libraries take them: tensors of PyTorch, arrays of JAX, record batches of Arrow.

None of these libraries is imported before it is used.
"""
