"""Faults, damage, leaks and schedules by the thousand: what docs/reliability.md promises, shown."""
