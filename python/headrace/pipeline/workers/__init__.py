"""Worker processes for Python functions, with their messages and calls."""
