"""What examples hold: the values of their features, and what these have in common."""
