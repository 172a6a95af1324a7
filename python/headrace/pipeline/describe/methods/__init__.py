"""The methods of a pipeline by topic, each of which adds a stage."""
