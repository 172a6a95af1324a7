"""The framework of operations: arguments, static shapes, NumPy kernels, folding."""
