"""Sources whose files define the components of an example, one in each module."""
