"""What `make docs` writes and checks."""
