"""File names: patterns, directories, listings and index files."""
