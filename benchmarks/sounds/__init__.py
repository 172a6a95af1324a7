"""Bands of short sounds, in shuffled batches, measured beside other libraries (W16)."""
