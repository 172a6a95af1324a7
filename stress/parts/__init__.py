"""The parts of the stress tests. Each module has a function `run` and can be run separately."""
