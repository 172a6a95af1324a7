"""Turns a pipeline's description into the plan that the engine runs."""
