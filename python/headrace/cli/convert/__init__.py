"""The steps of ``headrace convert``, from files of one format to files of another."""
