"""Converts a pipeline's description to the plan that the engine runs."""
