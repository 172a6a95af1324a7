"""TensorFlow 1 checkpoints and event files.

This is the only module outside `headrace.tf1` that imports `headrace.tf1`. Commands import it only
for such files.
"""

from __future__ import annotations

import math
from typing import Any

from headrace.cli.failures import Failure
from headrace.cli.file_kinds import Content
from headrace.cli.file_pipelines import source_of
from headrace.cli.inspect.report import InspectOptions, ShownExample, counts, damage_of_whole_file
from headrace.core.errors import OpError
from headrace.protos.library import DecodeError
from headrace.tf1.checkpoint.file import CheckpointReader
from headrace.tf1.protos import Event
from headrace.tf1.tensor_bundle import BundleReader

__all__ = ["read_bundle", "report_of_bundle", "report_of_events", "report_of_session"]


def report_of_bundle(
    content: Content, looked: InspectOptions
) -> tuple[dict[str, Any], list[ShownExample]]:
    """Returns the report of a checkpoint of variables, with its tensors."""
    report: dict[str, Any] = {"unit": "tensors", "damage": []}
    if not content.path.endswith(".index"):
        raise Failure(
            f"{content.path}: this is a table, but its name does not end with '.index'. Rename it."
        )
    try:
        reader = BundleReader(content.path.removesuffix(".index"))
    except OpError as error:
        return report | {
            "count": 0,
            "damage": [damage_of_whole_file("checkpoint", error.message)],
        }, []
    tensors: list[dict[str, Any]] = [
        {"name": name, "type": _dtype_of(reader, name), "shape": list(reader.shape(name))}
        for name in reader.keys()  # noqa: SIM118 (a method of its own)
    ]
    values = sum(math.prod(tensor["shape"]) for tensor in tensors)
    return report | {"count": len(tensors), "values": values, "tensors": tensors}, []


def _dtype_of(reader: BundleReader, name: str) -> str:
    try:
        dtype = reader.dtype(name)
    except OpError:  # NumPy has no such type.
        return "unknown"
    return "bytes" if dtype.hasobject else str(dtype)


def report_of_session(
    content: Content, looked: InspectOptions
) -> tuple[dict[str, Any], list[ShownExample]]:
    """Returns the report of a session checkpoint, with its resources."""
    report = counts(content, looked, "records")
    graph = CheckpointReader(content.path).header.get("graph")
    if not isinstance(graph, dict) or not all(isinstance(one, dict) for one in graph.values()):
        raise Failure(f"{content.path}: the checkpoint is damaged. Use another one.")
    report["resources"] = [
        {"name": name, "type": one.get("type")} for name, one in sorted(graph.items())
    ]
    return report, []


def report_of_events(
    content: Content, looked: InspectOptions
) -> tuple[dict[str, Any], list[ShownExample]]:
    """Returns the report of an event file, with the steps and tags of its first events."""
    report = counts(content, looked, "events")
    num_looked = 0
    steps: list[int] = []
    tags: set[str] = set()
    with iter(source_of(content).skip_errors(1 << 62).take(looked.num_records)) as examples:
        for example in examples:
            num_looked += 1
            try:
                event = Event.FromString(example["record"])
            except DecodeError:  # Other files have neither steps nor tags.
                continue
            if event.HasField("summary"):
                steps.append(event.step)
                tags.update(value.tag for value in event.summary.value)
    report["looked_at"] = num_looked
    report["steps"] = [min(steps), max(steps)] if steps else None
    report["tags"] = sorted(tags)
    return report, []


def read_bundle(path: str) -> tuple[int, list[str]]:
    """Reads all tensors of a checkpoint of variables.

    Returns:
        The number of readable tensors, and the errors for the others.

    Raises:
        OpError: If the index of the checkpoint cannot be read.
    """
    reader = BundleReader(path.removesuffix(".index"))
    number, failures = 0, []
    for name in reader.keys():  # noqa: SIM118 (a method of its own)
        try:
            reader.read(name)
            number += 1
        except OpError as error:
            failures.append(error.message.splitlines()[0])
    return number, failures
