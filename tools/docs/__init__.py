"""Generators and checks of the pages that `make docs` builds."""
