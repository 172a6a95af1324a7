"""Arrays in memory in shuffled batches, measured beside other libraries (W14)."""
