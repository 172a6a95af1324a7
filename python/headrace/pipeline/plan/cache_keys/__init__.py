"""Keys of caches on disk."""
