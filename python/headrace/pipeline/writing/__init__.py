"""Files that are written: their shards, one after the other, and what continues a killed run."""
