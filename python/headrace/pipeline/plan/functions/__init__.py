"""Functions of users: how they are called, what they draw, keep and return."""
