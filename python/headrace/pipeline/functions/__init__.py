"""Users' functions and iterators: their calls and their state."""
