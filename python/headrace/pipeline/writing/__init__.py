"""Writing of files: shards, one after the other, and the journal to continue a killed run."""
