"""Files for the torture: files to damage and read, and the files that a writer may leave."""
