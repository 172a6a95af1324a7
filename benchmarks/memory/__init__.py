"""Benchmarks of memory: queues and long runs."""
