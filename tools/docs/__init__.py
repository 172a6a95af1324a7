"""Generates and checks the pages that `make docs` builds."""
