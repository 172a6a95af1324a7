"""The speed of shuffles, and of the indexes that they use."""
