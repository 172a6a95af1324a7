"""Functions of users: their calls, random draws, states and results."""
