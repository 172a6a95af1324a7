"""Sessions, which run graphs and own state such as queues, variables and readers."""

from headrace.core.wait_registry import register_report
from headrace.graph.lowering.resources import Resource, Resources, make_fresh
from headrace.tf1.session.devices import DeviceAttributes
from headrace.tf1.session.flows import Flow, flow_of, needed_by
from headrace.tf1.session.interactive import InteractiveSession
from headrace.tf1.session.options import (
    ConfigProto,
    GraphOptions,
    OptimizerOptions,
    RunOptions,
)
from headrace.tf1.session.pausing import Loop, Pausing
from headrace.tf1.session.runners import Life, Producer, Progress, register_producer
from headrace.tf1.session.session import Session
from headrace.tf1.session.wait_report import session_sections

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
    "flow_of",
    "make_fresh",
    "needed_by",
    "register_producer",
]

register_report(session_sections)
