"""Reads windows of a file of tokens in random order, beside a NumPy memmap and Grain (W9)."""
