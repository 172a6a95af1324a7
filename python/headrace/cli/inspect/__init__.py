"""Reports of ``headrace inspect``, and their output."""
