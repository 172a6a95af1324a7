"""``headrace convert``: converts files from one format to another."""
