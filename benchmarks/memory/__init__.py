"""How much memory queues and long runs take."""
