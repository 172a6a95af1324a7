"""Writes files shard by shard, with a journal to continue a killed run."""
