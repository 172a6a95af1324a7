"""``headrace tokenize``."""
