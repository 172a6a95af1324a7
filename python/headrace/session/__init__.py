"""Sessions: they run graphs and own the state of a run: queues, variables, readers."""

from headrace.session.devices import DeviceAttributes
from headrace.session.flows import Flow, flow_of, needed_by
from headrace.session.interactive import InteractiveSession
from headrace.session.options import (
    ConfigProto,
    GraphOptions,
    OptimizerOptions,
    RunOptions,
)
from headrace.session.pausing import Loop, Pausing
from headrace.session.resources import Resource, Resources, make_fresh
from headrace.session.runners import Life, Producer, Progress, register_producer
from headrace.session.session import Session, open_sessions
from headrace.session.waits import Watch

__all__ = [
    "ConfigProto",
    "DeviceAttributes",
    "Flow",
    "GraphOptions",
    "InteractiveSession",
    "Life",
    "Loop",
    "OptimizerOptions",
    "Pausing",
    "Producer",
    "Progress",
    "Resource",
    "Resources",
    "RunOptions",
    "Session",
    "Watch",
    "flow_of",
    "make_fresh",
    "needed_by",
    "open_sessions",
    "register_producer",
]
