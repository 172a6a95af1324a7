"""``headrace index``: writes the places of the records of files."""
