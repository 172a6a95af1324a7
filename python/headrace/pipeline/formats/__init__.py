"""Sources that know the format of their files, one a module."""
