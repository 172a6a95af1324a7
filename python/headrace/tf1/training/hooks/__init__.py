"""Hooks of monitored sessions: calls before and after each run."""
