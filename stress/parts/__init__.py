"""The parts of the stress tests: each module has a function `run` and can be run by itself."""
