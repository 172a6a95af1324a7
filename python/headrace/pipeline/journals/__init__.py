"""Journals: queues on disk between processes that write rows and pipelines that read them."""
