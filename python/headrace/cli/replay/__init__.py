"""``headrace replay``."""
