"""``headrace audit``."""
