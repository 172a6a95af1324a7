"""Image operations that only graphs have: patches, similarity, and suppression of boxes."""
