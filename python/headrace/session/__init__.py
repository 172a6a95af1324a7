"""Sessions: they run graphs and own the state of a run: queues, variables, readers."""

from headrace.session.options import (
    ConfigProto,
    GraphOptions,
    OptimizerOptions,
    RunMetadata,
    RunOptions,
)
from headrace.session.runners import Life, Progress, register_producer
from headrace.session.session import InteractiveSession, Session

__all__ = [
    "ConfigProto",
    "GraphOptions",
    "InteractiveSession",
    "Life",
    "OptimizerOptions",
    "Progress",
    "RunMetadata",
    "RunOptions",
    "Session",
    "register_producer",
]
