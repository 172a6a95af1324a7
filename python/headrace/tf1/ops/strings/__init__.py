"""Strings, with operations that only graphs have."""
