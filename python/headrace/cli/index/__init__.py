"""``headrace index``: writes the positions of the records in files."""
