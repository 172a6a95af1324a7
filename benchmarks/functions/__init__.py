"""Python functions that are called for each example, measured beside other libraries (W13)."""
