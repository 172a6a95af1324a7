"""What ``headrace verify`` reads, and what it reports."""
