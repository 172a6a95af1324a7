"""Example contents: feature values, and the common schema."""
