"""Time from the start of a process to the first batch, beside other libraries (W15)."""
