"""Array operations that only graphs have: diagonals, partitions, tensor arrays."""
