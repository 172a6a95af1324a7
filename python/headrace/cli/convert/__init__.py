"""How ``headrace convert`` goes from files of one format to those of another."""
