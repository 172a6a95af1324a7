"""``headrace show``."""
