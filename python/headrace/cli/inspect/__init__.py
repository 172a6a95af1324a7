"""The reports of ``headrace inspect``, and their output."""
