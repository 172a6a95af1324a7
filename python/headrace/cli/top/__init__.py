"""``headrace top``."""
