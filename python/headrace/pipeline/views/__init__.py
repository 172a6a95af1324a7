"""Views of a pipeline for display: its examples, its stages, and statistics of its values."""
