"""Control flow of graphs: branches, loops, Python functions."""
