"""The kinds of files, told by their contents."""
