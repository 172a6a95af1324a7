"""The threads of Python in an iteration: how they start, what watches them, how they end."""
