"""Images and unknown files."""

from __future__ import annotations

from typing import Any

from headrace.cli.file_kinds import Content
from headrace.cli.file_pipelines import source_of
from headrace.cli.inspect.images import Picture, decoded
from headrace.cli.inspect.report import InspectOptions, ShownExample, damage_of_whole_file
from headrace.pipeline.writing.values import Values

__all__ = [
    "report_of_image",
    "report_of_unknown",
]


def report_of_image(
    content: Content, looked: InspectOptions
) -> tuple[dict[str, Any], list[ShownExample]]:
    """Returns the size of an image, and the image itself."""
    with iter(source_of(content)) as examples:
        data = next(examples)["data"]
    picture = decoded(data)
    report: dict[str, Any] = {"format": content.detail, "damage": []}
    if isinstance(picture, Picture):
        height, width, channels = picture.pixels.shape
        report |= {"height": height, "width": width, "channels": channels}
    elif picture is not None:
        reason = picture.splitlines()[0]
        report["damage"] = [damage_of_whole_file("image", reason)]
    shown = [ShownExample(0, {"data": Values("bytes", [data], ())})]
    return report, shown if looked.num_examples else []


def report_of_unknown(
    content: Content, looked: InspectOptions
) -> tuple[dict[str, Any], list[ShownExample]]:
    """Returns a report that guesses the kind of an unknown file."""
    return {"looks_like": content.detail, "damage": []}, []
