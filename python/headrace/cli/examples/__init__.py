"""The contents of examples: the values of their features, and their common schema."""
