"""The report of ``headrace state`` about saved states."""
