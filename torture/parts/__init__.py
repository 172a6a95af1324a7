"""The parts of the torture: each module has a function `run` and can be run by itself."""
