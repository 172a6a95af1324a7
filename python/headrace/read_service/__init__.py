"""Readers that feed trainers: the layout of batches over readers, and windows of requests.

Independent of the transport: `headrace.ray` carries the requests, and so can a simulation.
"""

from headrace.read_service.advice import Advice, Loads, advice
from headrace.read_service.layout import Layout, Turn, arranged
from headrace.read_service.reader import Answer, Ask, Given, Reader
from headrace.read_service.window import Window

__all__ = [
    "Advice",
    "Answer",
    "Ask",
    "Given",
    "Layout",
    "Loads",
    "Reader",
    "Turn",
    "Window",
    "advice",
    "arranged",
]
