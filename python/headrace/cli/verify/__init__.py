"""The checks of ``headrace verify``, and their report."""
