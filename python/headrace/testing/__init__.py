"""Helpers for your tests: checks of order and resuming, and reports on waiting threads."""

from headrace.testing.reproducing import assert_resumes, assert_same_order
from headrace.testing.waits import dump_waits, dump_waits_on_signal

__all__ = ["assert_resumes", "assert_same_order", "dump_waits", "dump_waits_on_signal"]
