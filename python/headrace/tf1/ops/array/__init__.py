"""Array operations for graphs only: diagonals, partitions, tensor arrays."""
