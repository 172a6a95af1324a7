"""The files that are written: one module for each format."""
