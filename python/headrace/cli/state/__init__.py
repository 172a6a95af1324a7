"""The report of ``headrace state`` on saved states."""
