"""The description of a pipeline: stages, sources, and what is known without running anything."""
