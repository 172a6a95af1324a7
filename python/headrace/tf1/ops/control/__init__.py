"""Control flow in graphs: branches, loops, Python functions."""
