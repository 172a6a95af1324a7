"""The names of files: patterns, directories, listings and index files."""
