"""Files for the stress tests: files to damage and read, and the files that a writer may leave."""
