"""What a file is, told by what is in it."""
