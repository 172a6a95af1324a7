"""The measurements of ``headrace bench``."""
