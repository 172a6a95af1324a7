"""JSON lines in shuffled batches, measured beside other libraries (W11)."""
