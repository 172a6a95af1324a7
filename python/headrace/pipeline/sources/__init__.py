"""Sources of examples, one per file."""
