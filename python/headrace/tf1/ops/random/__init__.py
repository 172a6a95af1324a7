"""Random draws from categories."""
