"""Views of a pipeline for people: its examples, its stages, and statistics of its values."""
