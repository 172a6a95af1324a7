"""Drawing random categories."""
