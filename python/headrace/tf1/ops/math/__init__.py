"""Numbers, with operations that only graphs have: segments, bits, checks."""
