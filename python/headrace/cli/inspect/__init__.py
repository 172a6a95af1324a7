"""What ``headrace inspect`` finds out of files, and how it shows it."""
