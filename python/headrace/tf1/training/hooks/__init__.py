"""Hooks for monitored sessions, which are called before and after each run."""
