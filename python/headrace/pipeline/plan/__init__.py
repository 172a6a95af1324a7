"""From a description to the plan that the engine runs."""
