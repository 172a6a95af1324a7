"""Images, checkpoints, event files, and unknown files."""

from __future__ import annotations

import math
from typing import Any

from headrace.cli.content.kind import Content
from headrace.cli.failures import Failure
from headrace.cli.file_pipelines import source_of
from headrace.cli.inspect.images import Picture, decoded
from headrace.cli.inspect.report import Looked, Shown, counts
from headrace.core.errors import OpError
from headrace.io.tensor_bundle import BundleReader
from headrace.pipeline.writing.values import Values
from headrace.protos import Event
from headrace.protos.library import DecodeError
from headrace.tf1.checkpoint.file import CheckpointReader

__all__ = [
    "report_of_bundle",
    "report_of_events",
    "report_of_image",
    "report_of_session",
    "report_of_unknown",
]


def report_of_image(content: Content, looked: Looked) -> tuple[dict[str, Any], list[Shown]]:
    """Returns the size of an image, and itself."""
    with iter(source_of(content)) as examples:
        data = next(examples)["data"]
    found = decoded(data)
    report: dict[str, Any] = {"format": content.detail, "damage": []}
    if isinstance(found, Picture):
        height, width, channels = found.pixels.shape
        report |= {"height": height, "width": width, "channels": channels}
    elif found is not None:
        reason = found.splitlines()[0]
        report["damage"] = [_whole_file("image", reason)]
    shown = [Shown(0, {"data": Values("bytes", [data], ())})]
    return report, shown if looked.num_examples else []


def report_of_bundle(content: Content, looked: Looked) -> tuple[dict[str, Any], list[Shown]]:
    """Returns the tensors of a checkpoint of variables."""
    report: dict[str, Any] = {"unit": "tensors", "damage": []}
    if not content.path.endswith(".index"):
        raise Failure(f"{content.path}: a table whose name does not end with '.index'. Rename it.")
    try:
        reader = BundleReader(content.path.removesuffix(".index"))
    except OpError as error:
        return report | {"count": 0, "damage": [_whole_file("checkpoint", error.message)]}, []
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


def report_of_session(content: Content, looked: Looked) -> tuple[dict[str, Any], list[Shown]]:
    """Returns the resources in a checkpoint of a session."""
    report = counts(content, looked, "records")
    graph = CheckpointReader(content.path).header.get("graph")
    if not isinstance(graph, dict) or not all(isinstance(one, dict) for one in graph.values()):
        raise Failure(f"{content.path}: the checkpoint is damaged. Use another one.")
    report["resources"] = [
        {"name": name, "type": one.get("type")} for name, one in sorted(graph.items())
    ]
    return report, []


def report_of_events(content: Content, looked: Looked) -> tuple[dict[str, Any], list[Shown]]:
    """Returns the steps and tags of an event file, by its first events."""
    report = counts(content, looked, "events")
    num_looked = 0
    steps: list[int] = []
    tags: set[str] = set()
    with iter(source_of(content).skip_errors(1 << 62).take(looked.num_records)) as examples:
        for example in examples:
            num_looked += 1
            try:
                event = Event.FromString(example["record"])
            except DecodeError:  # A file of another kind has no steps and no tags.
                continue
            if event.HasField("summary"):
                steps.append(event.step)
                tags.update(value.tag for value in event.summary.value)
    report["looked_at"] = num_looked
    report["steps"] = [min(steps), max(steps)] if steps else None
    report["tags"] = sorted(tags)
    return report, []


def report_of_unknown(content: Content, looked: Looked) -> tuple[dict[str, Any], list[Shown]]:
    """Returns a guess of the kind of an unknown file."""
    return {"looks_like": content.detail, "damage": []}, []


def _whole_file(stage: str, reason: str) -> dict[str, Any]:
    return {"record": None, "offset_bytes": None, "stage": stage, "reason": reason}
