"""String operations that only graphs have."""
