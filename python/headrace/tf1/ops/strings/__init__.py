"""String operations for graphs only."""
