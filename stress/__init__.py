"""Thousands of faults, damages, leak checks and schedules: evidence for docs/reliability.md."""
