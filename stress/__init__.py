"""Stress tests with thousands of faults, damaged files, leak checks and thread schedules."""
