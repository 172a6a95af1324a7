"""How operations are made: arguments, static shapes, NumPy kernels, folding."""
