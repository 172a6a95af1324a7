"""``headrace index``: positions of the records of TFRecord files."""
