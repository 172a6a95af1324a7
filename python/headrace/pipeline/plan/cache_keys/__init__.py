"""Keys of disk caches."""
