"""The pages that `make docs` writes and checks."""
