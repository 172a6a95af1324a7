"""Control flow: conditions, order of execution, assertions, printing and Python functions."""
