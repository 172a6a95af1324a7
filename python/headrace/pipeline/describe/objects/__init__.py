"""Values that no single array holds: objects of JSON, and lists of lists."""
