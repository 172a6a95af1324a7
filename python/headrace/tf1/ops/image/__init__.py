"""Image operations that only graphs have: patches, similarity, suppression of boxes."""
