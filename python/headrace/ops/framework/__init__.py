"""The framework for operations: arguments, static shapes, NumPy kernels and folding."""
