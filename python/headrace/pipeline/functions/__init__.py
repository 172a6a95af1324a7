"""Functions and iterators of users: how they are called, and what they keep."""
