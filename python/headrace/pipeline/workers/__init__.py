"""Worker processes for Python functions: their messages, their calls and their end."""
