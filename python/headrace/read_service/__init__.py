"""Assigns batches to readers, and handles trainers' requests.

It is independent of the transport: `headrace.ray` or a simulation can carry the requests.
"""

from headrace.read_service.advice import Advice, Loads, advice
from headrace.read_service.layout import Layout, ReaderAssignment, arranged
from headrace.read_service.reader import BatchReply, BatchRequest, Reader, ReaderReply
from headrace.read_service.window import Window

__all__ = [
    "Advice",
    "BatchReply",
    "BatchRequest",
    "Layout",
    "Loads",
    "Reader",
    "ReaderAssignment",
    "ReaderReply",
    "Window",
    "advice",
    "arranged",
]
