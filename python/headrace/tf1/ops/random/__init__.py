"""Random draws of categories."""
