"""The programs, with one module per topic."""
