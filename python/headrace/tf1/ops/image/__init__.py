"""Image operations for graphs only: patches, similarity, non-maximum suppression."""
