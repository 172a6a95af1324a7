"""Component values: their types, and their conversion to and from arrays."""
