"""Files for the stress tests, which are damaged and read, or left by a writer."""
