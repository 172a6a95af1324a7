"""Converts step statistics to a trace that Chrome shows under `chrome://tracing`.

Source: `tensorflow.python.client.timeline` in TensorFlow 1.15, and the "Trace Event Format" of the
Chromium project.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from headrace.graph import Graph
from headrace.tf1.protos import NodeExecStats, StepStats

__all__ = ["Timeline"]


class _Op(NamedTuple):
    """An operation in a trace: its times, and the process and lane that display it."""

    pid: int
    lane: int
    name: str
    type: str
    inputs: list[str]
    begin: int
    end: int


class Timeline:
    """Creates a trace from step statistics.

    Args:
        step_stats: `run_metadata.step_stats` of a run with `RunOptions(trace_level=...)`.
        graph: Accepted for compatibility, but not used.
    """

    def __init__(self, step_stats: StepStats, graph: Graph | None = None) -> None:
        self._step_stats = step_stats

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False
    ) -> str:
        """Returns the trace as JSON.

        Args:
            show_dataflow: Whether to draw arrows from operations to the operations that use their
                outputs.
            show_memory: Accepted for compatibility, but not used, because sessions don't record
                allocations.
        """
        events: list[dict[str, Any]] = []
        ops: dict[str, _Op] = {}
        for pid, device in enumerate(self._step_stats.dev_stats):
            name = {"name": f"{device.device} Compute"}
            events.append({"name": "process_name", "ph": "M", "pid": pid, "args": name})
            ops.update((op.name, op) for op in _in_lanes(pid, device.node_stats))
        events += map(_shown, ops.values())
        if show_dataflow:
            events += _arrows(ops)
        return json.dumps({"traceEvents": events}, indent=4)


def _in_lanes(pid: int, stats: Iterable[NodeExecStats]) -> Iterator[_Op]:
    """Yields operations ordered by start time. Overlapping operations get separate lanes."""
    ends: list[int] = []
    for node in sorted(stats, key=lambda node: node.all_start_micros):
        begin = node.all_start_micros
        end = begin + max(node.all_end_rel_micros, 1)
        lane = next((lane for lane, free in enumerate(ends) if free <= begin), len(ends))
        ends[lane : lane + 1] = [end]
        kind, inputs = _parsed(node.timeline_label)
        yield _Op(pid, lane, node.node_name, kind, inputs, begin, end)


def _parsed(label: str) -> tuple[str, list[str]]:
    """Parses a label "name = Type(input, ...)". Returns the type and the inputs."""
    _, _, call = label.partition(" = ")
    kind, _, inputs = call.partition("(")
    return kind or "Unknown", [text for text in inputs.rstrip(")").split(", ") if text]


def _shown(op: _Op) -> dict[str, Any]:
    arguments = {"name": op.name, "op": op.type}
    arguments |= {f"input{number}": name for number, name in enumerate(op.inputs)}
    fields = {"pid": op.pid, "tid": op.lane, "ts": op.begin, "dur": op.end - op.begin}
    return {"ph": "X", "cat": "Op", "name": op.type, **fields, "args": arguments}


def _arrows(ops: dict[str, _Op]) -> Iterator[dict[str, Any]]:
    """Yields both ends of each arrow that leads from one lane to another."""
    number = 0
    for op in ops.values():
        for name in op.inputs:
            source = ops.get(name.removeprefix("^").partition(":")[0])
            if source is None or (source.pid, source.lane) == (op.pid, op.lane):
                continue
            for phase, end, time in (("s", source, source.end), ("t", op, op.begin)):
                fields = {"pid": end.pid, "tid": end.lane, "ts": time, "id": number}
                yield {"ph": phase, "cat": "DataFlow", "name": name, **fields}
            number += 1
