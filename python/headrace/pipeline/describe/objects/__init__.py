"""Values that do not fit into one array: JSON values, and lists of lists."""
