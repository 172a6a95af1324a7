"""Worker processes for Python functions: what goes to them, how they run, how they end."""
