"""Users' functions and iterators: how they are called, and what state they keep."""
