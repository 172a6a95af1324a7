"""The description of a pipeline: stages, sources, and facts known without running it."""
