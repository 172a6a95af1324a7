"""Formats reports for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from headrace.cli.file_kinds import is_number
from headrace.cli.wording import count_of, percent, shortened, size, table
from headrace.core.repr_prefix import printable

__all__ = ["damage_lines", "kind_of", "lines_of", "position_of"]

_NAMES: Final = {
    "tfrecord": "TFRecord",
    "csv": "CSV",
    "json lines": "JSON lines",
    "index": "record index",
}
_MOST_LETTERS: Final = 40
_MOST_DAMAGE: Final = 20
_MOST_TENSORS: Final = 50


def lines_of(report: dict[str, Any]) -> Iterator[str]:
    """Yields the lines of a report, without its examples and damage."""
    yield printable(report["file"])
    kind = _NAMES.get(report["kind"], report["kind"])
    packing = report["compression"]
    packed = f"compressed with {packing}" if packing else "not compressed"
    yield f"  {kind}, {packed}, {size(report['size_bytes'])}"
    if report["kind"] == "unknown":
        yield f"  {_unknown(report)}"
    if "count" in report:
        yield f"  {_counts(report)}"
    yield from _features(report)
    yield from _others(report)


def kind_of(report: dict[str, Any]) -> str:
    """Returns the kind of a file in a few words, such as "TFRecord, gzip" or "JPEG image"."""
    kind = str(_NAMES.get(report["kind"], report["kind"]))
    if report["kind"] == "image":
        kind = f"{report['format']} image"
    return f"{kind}, {report['compression']}" if report["compression"] else kind


def damage_lines(report: dict[str, Any]) -> Iterator[str]:
    """Yields the lines that describe the damage."""
    damage = report["damage"]
    if not damage:
        return
    yield f"  damage in {count_of(len(damage), 'place')}:"
    for one in damage[:_MOST_DAMAGE]:
        yield f"    {position_of(one)}: {shortened(one['reason'], 400)}"
    if len(damage) > _MOST_DAMAGE:
        yield f"    and {len(damage) - _MOST_DAMAGE:,} more; use --json to see all"


def position_of(damage: dict[str, Any]) -> str:
    """Returns the position of damage, such as "record 3 at byte 90"."""
    where = [] if damage["record"] is None else [f"record {damage['record']:,}"]
    where += [] if damage["offset_bytes"] is None else [f"at byte {damage['offset_bytes']}"]
    return " ".join(where) or "the whole file"


def _unknown(report: dict[str, Any]) -> str:
    if report["looks_like"]:
        return f"looks like {report['looks_like']}, which headrace cannot read"
    return "unknown format: not TFRecord, tar, Parquet, an image, CSV, JSON or other text"


def _counts(report: dict[str, Any]) -> str:
    unit = report["unit"]
    if report["count"] is None:
        return f"{unit} not counted, because of --quick"
    text = count_of(report["count"], unit.removesuffix("s"), unit)
    if report.get("values") is not None:
        text += f" of {count_of(report['values'], 'value')}"
    num_bytes = report.get("bytes")
    if num_bytes and report["count"]:
        text += f" of {_sizes(num_bytes, report['count'])}"
    if report.get("row_groups") is not None:
        groups = count_of(report["row_groups"], "row group")
        text += f" in {groups}, {', '.join(report['codecs']) or 'empty'}"
    if report.get("damage"):
        text += f"; {len(report['damage']):,} damaged"
    return text


def _sizes(counts: dict[str, int], count: int) -> str:
    least, most = counts["least"], counts["most"]
    if least == most:
        return count_of(most, "byte")
    return f"{least:,} to {count_of(most, 'byte')}, {counts['total'] / count:,.1f} on average"


def _features(report: dict[str, Any]) -> Iterator[str]:
    looked = report.get("looked_at", 0)
    if not looked or report["kind"] == "events":
        return
    seen = (
        f"all {report['unit']}"
        if report["count"] is not None and looked >= report["count"]
        else f"the first {looked:,}; use --records N for more"
    )
    what = report.get("examples")
    if what == "bytes":
        yield f"  records of bytes, not Examples ({seen})"
        return
    others = report.get("no_examples")
    others = f"; {others:,} are not Examples" if others else ""
    yield f"  {f'{what}s' if what else 'columns'} ({seen}{others}):"
    yield from table([_HEADER, *map(_row, report["features"])], "    ")
    if report["kind"] == "csv" and any(is_number(one["name"]) for one in report["features"]):
        yield "  the first line was read as the header, but it contains numbers, so it may be data"
    if report.get("feature_lists"):
        yield "  feature lists:"
        yield from table([_HEADER, *map(_row, report["feature_lists"])], "    ")


_HEADER: Final = ("name", "type", "shape", "in", "values", "content")


def _row(feature: dict[str, Any]) -> tuple[str, ...]:
    return (
        shortened(feature["name"], _MOST_LETTERS),
        feature["type"],
        _shape(feature),
        percent(feature["share"]),
        _values(feature),
        feature["format"] or "",
    )


def _shape(feature: dict[str, Any]) -> str:
    if feature["shape"] is not None:
        return f"[{', '.join(map(str, feature['shape']))}]"
    least, most = feature["lengths"]
    return f"[{least:,}…{most:,}]" if least != most else "[varies]"


def _values(feature: dict[str, Any]) -> str:
    if feature["bytes"]:
        least, most = feature["bytes"]
        return count_of(most, "byte") if least == most else f"{least:,} … {count_of(most, 'byte')}"
    if feature["least"] is None:
        text = ""
    elif feature["least"] == feature["most"]:
        text = _number(feature["least"])
    else:
        text = f"{_number(feature['least'])} … {_number(feature['most'])}"
    if feature["not_finite"]:
        text += f"{', ' if text else ''}{feature['not_finite']:,} not finite"
    return text


def _number(value: float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _others(report: dict[str, Any]) -> Iterator[str]:
    if report["kind"] == "image" and "height" in report:
        shape = f"{report['width']} x {report['height']}"
        yield f"  {report['format']}, {shape}, {count_of(report['channels'], 'channel')}"
    elif report["kind"] == "image":
        yield f"  {report['format']}"
    if report["kind"] == "state":
        yield f"  the state of an iteration; run headrace state {report['file']} to describe it"
    if "of_kind" in report:
        current = {True: "up to date", False: "outdated", None: "not compared with the file"}
        total = f"{report['of_kind']}, {size(report['of_bytes'])}"
        yield f"  index of {printable(report['of'])} ({total}): {current[report['is_current']]}"
    tensors = report.get("tensors", ())
    for tensor in tensors[:_MOST_TENSORS]:
        yield f"    {shortened(tensor['name'], 80)}  {tensor['type']}  {tensor['shape']}"
    if len(tensors) > _MOST_TENSORS:
        yield f"    and {len(tensors) - _MOST_TENSORS:,} more; use --json to see all"
    for resource in report.get("resources", ()):
        yield f"    {shortened(resource['name'], 80)}  {resource['type']}"
    if report.get("steps"):
        first, last = report["steps"]
        yield f"  steps {first:,} to {last:,}, tags: {shortened(', '.join(report['tags']), 400)}"
