"""Memory benchmarks: queues and long runs."""
