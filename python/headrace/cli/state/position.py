"""Describes a state's position, one line per stage, from the last to the first.

Source: `crates/pipeline/src/checkpoint.rs`, and the checkpoints that the nodes there create.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from headrace.cli.wording import count_of
from headrace.pipeline.run.checkpoints import Checkpoint

__all__ = ["name_of", "num_batches", "position_lines", "within_pass"]

_FILES: Final = (
    "tfrecords",
    "tfds",
    "text_lines",
    "csv",
    "json_array",
    "json_lines",
    "fixed_length_records",
    "files",
    "image_folder",
    "audio_folder",
    "coco",
    "yolo",
    "pascal_voc",
    "webdataset",
)
# Sources whose files a window shuffle may permute.
_IN_PIECES: Final = (*_FILES, "parquet", "arrow", "lerobot", "tokens", "concat")
_BATCHES: Final = ("batch", "padded_batch")
_PIECES: Final = {"parquet": "row group", "arrow": "record batch", "lerobot": "row group"}
_TOGETHER: Final = ("concat", "mix", "zip")
# The texts for stages, by their number of values. `total` is the first value plus later examples.
_SAYINGS: Final = {
    **{
        (
            name,
            2,
        ): "The program has received {total:,} batches. The last one started at the position below."
        for name in _BATCHES
    },
    **{
        (name, 3): (
            "The program has received {total:,} batches. The last one started at example "
            "{second:,} of the order of all ranks, at the position below."
        )
        for name in _BATCHES
    },
    ("epochs", 1): "The iteration is in pass {first}, counted from 0.",
    ("epochs", 3): "The iteration is in pass {first}, counted from 0.",
    ("take", 1): "It has yielded {total:,} examples.",
    ("skip", 1): "It has skipped the first {first:,} examples.",
    ("windows", 1): "The next window starts {first:,} examples after the position below.",
    ("shard", 2): "All {second} shards together have passed {total:,} positions in the order.",
    ("skip_errors", 1): "It has passed on {total:,} examples.",
    ("cache", 1): "The next example is number {total:,} in the cache, counted from 0.",
    ("shuffle", 1): "The next example is at position {total:,} in the order of this pass.",
    ("sample", 1): "The next example is draw {total:,} of this pass, counted from 0.",
    (
        "shuffle",
        5,
    ): "It has drawn {total:,} examples. Its window is refilled from the position below.",
    ("arrays", 1): "The next row is number {total:,}, counted from 0.",
    ("videos", 1): "The next row is number {total:,}, counted from 0.",
    ("video_folder", 1): "The next row is number {total:,}, counted from 0.",
    ("indexed", 1): "The next row is number {total:,}, counted from 0.",
    ("iterable", 1): "The iterator has yielded {total:,} examples.",
    ("journal", 1): (
        "It has yielded {total:,} examples since a line of its order of arrival, which the state "
        "stores."
    ),
    ("parquet", 3): (
        "The next row is row {record:,} of its file. It is in row group {first}, counted across "
        "all files. Both numbers start at 0."
    ),
    ("lerobot", 3): (
        "The next row is row {record:,} of its file. It is in row group {first}, counted across "
        "all files. Both numbers start at 0."
    ),
    ("arrow", 3): (
        "The next row is row {record:,} of its file. It is in record batch {first}, counted "
        "across all files. Both numbers start at 0."
    ),
    ("tokens", 3): "The next window is number {record:,} of file {first}, both counted from 0.",
    **{
        (name, 3): "The next record is number {record:,} of file {first}, both counted from 0."
        for name in _FILES
    },
}
_GROUPS: Final = ("bucket_by_length", "bucket_by_shape", "pack")
_WITH_RESULTS: Final = (
    *("map", "filter", "flat_map", "clips", "unbatch", "steps"),
    *("decode_images", "lerobot_items"),
)
# Stages that process single rows have no position of their own.
_OF_ROWS: Final = (
    *("parse", "select", "rename", "with_origin", "split", "split_slice", "indexed"),
    *_WITH_RESULTS,
)
# Stages that make one example from each example of the previous stage.
_ONE_TO_ONE: Final = ("take", "skip", "epochs", "skip_errors", "cache")


def within_pass(words: Sequence[Any], checkpoint: Checkpoint) -> tuple[Checkpoint, int]:
    """Returns the position in a pass over a journal, and the number of completed passes.

    A journal that is reopened after its end continues with another pass. Other sources have no such
    passes.
    """
    if not words or name_of(words[0]) != "journal" or not checkpoint.inputs:
        return checkpoint, 0
    (inner,), (number,) = checkpoint.inputs, checkpoint.numbers
    return inner._replace(skip=inner.skip + checkpoint.skip), number


def num_batches(words: Sequence[Any], checkpoint: Checkpoint) -> int | None:
    """Returns the number of batches taken, or None if the last stage does not make batches."""
    if name_of(words[-1]) not in _BATCHES:
        return None
    return checkpoint.skip + (checkpoint.numbers[0] if checkpoint.numbers else 0)


def position_lines(  # noqa: PLR0911 (one return per kind of position)
    words: Sequence[Any],
    checkpoint: Checkpoint,
    after: int = 0,
    digested: int | None = None,
    in_blocks: bool = False,
) -> Iterator[str]:
    """Yields the lines that describe a position, starting with the last stage.

    Args:
        words: The stages, as stored in a state.
        checkpoint: The checkpoint of the last stage.
        after: The number of examples after the checkpoint.
        digested: The number of stages that determine the global order. The digest's checkpoint
            follows these stages' checkpoints.
        in_blocks: Whether a shuffle after these stages reads pieces of files.
    """
    for index in range(len(words) - 1, -1, -1):
        name = name_of(words[index])
        in_blocks = in_blocks or _has_blocks(words[index])
        if index + 1 == digested and len(checkpoint.numbers) == len(checkpoint.inputs) == 1:
            (before,) = checkpoint.inputs
            checkpoint, digested = before._replace(skip=before.skip + checkpoint.skip), None
        if not checkpoint.numbers and not checkpoint.inputs:
            yield f"{name}: {_beginning(checkpoint.skip + after)}"
            return
        if not checkpoint.numbers:
            # Functions that change the number of examples don't store values of their own.
            total = checkpoint.skip + after
            if name in _WITH_RESULTS:
                results = count_of(total, "result")
                yield f"{name}: It has yielded {results} since the position below."
                yield from position_lines(
                    words[:index], checkpoint.inputs[0], 0, digested, in_blocks
                )
                return
            if index == 0:  # A source whose fields are parsed in a separate step.
                yield from position_lines(words[:1], checkpoint.inputs[0], total, None, in_blocks)
                return
            continue
        if name in (*_IN_PIECES, *_TOGETHER) and checkpoint.inputs:
            yield from _lines_of_inputs(words[index], checkpoint, after, in_blocks)
            return
        if name in ("shuffle", "sample") and len(checkpoint.inputs) > 1:
            yield from _lines_of_shuffled_parts(name, words[index - 1], checkpoint, after)
            return
        saying = _SAYINGS.get((name, len(checkpoint.numbers)))
        if saying is not None:
            yield f"{name}: {_said(saying, checkpoint, after)}"
            if checkpoint.inputs:
                rest = checkpoint.skip + after if name in _ONE_TO_ONE else 0
                yield from position_lines(
                    words[:index], checkpoint.inputs[0], rest, digested, in_blocks
                )
            return
        if name in _GROUPS:
            taken = count_of(checkpoint.skip + after, "result")
            yield f"{name}: It has yielded {taken} since a point at which examples were waiting."
            return
        if index == 0 or name not in _OF_ROWS:
            numbers = ", ".join(map(str, checkpoint.numbers))
            yield f"{name}: This version of headrace cannot describe its position: {numbers}."
            return


def _said(saying: str, checkpoint: Checkpoint, after: int) -> str:
    first, *others = checkpoint.numbers
    total = first + checkpoint.skip + after
    record = others[-1] + checkpoint.skip if len(others) == 2 else 0
    text = saying.format(first=first, total=total, second=(others or [0])[0], record=record)
    if not after or "{record" not in saying:
        return text
    return f"{text} The pipeline resumes {count_of(after, 'example')} after it."


def _has_blocks(words: Any) -> bool:
    """Returns whether a stage is a shuffle that fills its window from pieces of files."""
    # The values are the window, the number of open pieces, their order, and the piece size.
    return name_of(words) == "shuffle" and re.search(r", \d+\)$", str(words)) is not None


def _lines_of_inputs(
    words: Any, checkpoint: Checkpoint, after: int, is_of_blocks: bool
) -> Iterator[str]:
    name, taken = name_of(words), count_of(checkpoint.skip + after, "example")
    if name not in _IN_PIECES or len(checkpoint.numbers) == 1:
        yield f"{name}: It has yielded {taken} since its parts were at these positions:"
        yield from _lines_of_parts(words, checkpoint.inputs)
        return
    word = _PIECES.get(name, "piece" if is_of_blocks else "file")
    begun = count_of(checkpoint.numbers[0], word)
    yield f"{name}: It had started {begun}, and has yielded {taken} since then. These were open:"
    if name != "concat":
        for part in checkpoint.inputs:
            lines = [_piece_line(name, part)] if is_of_blocks else position_lines([words], part)
            for line in lines:
                yield f"  {line}"


def _piece_line(name: str, checkpoint: Checkpoint) -> str:
    # Lines are counted from the beginning of a piece.
    if len(checkpoint.numbers) != 3:
        begins = (
            f"It resumes {count_of(checkpoint.skip, 'example')} after"
            if checkpoint.skip
            else "It starts at"
        )
        return f"{name}: {begins} the beginning of a piece."
    file, offset_bytes, _ = checkpoint.numbers
    text = (
        f"The next record is {checkpoint.skip:,} after"
        if checkpoint.skip
        else "The next record starts at"
    )
    return f"{name}: {text} byte {offset_bytes:,} of file {file}, both counted from 0."


def _lines_of_parts(words: Any, inputs: Sequence[Checkpoint]) -> Iterator[str]:
    for number, (part, checkpoint) in enumerate(zip(words[1:], inputs, strict=False)):
        for line in position_lines(part, checkpoint):
            yield f"  part {number}: {line}"


def _lines_of_shuffled_parts(
    name: str, words: Any, checkpoint: Checkpoint, after: int
) -> Iterator[str]:
    """Yields the lines for a full shuffle or sample of several sources, in source order."""
    taken = count_of(checkpoint.skip + after, "example")
    yield f"{name}: It has yielded {taken} since its parts were at these positions:"
    for number, (part, inner) in enumerate(zip(words[1:], checkpoint.inputs, strict=False)):
        if len(inner.numbers) == 1 and not inner.inputs:
            place = inner.numbers[0] + inner.skip
            yield (
                f"  part {number}: {name_of(part[0])}: The next example is at position {place:,} "
                "in its order."
            )
        else:
            yield from (f"  part {number}: {line}" for line in position_lines(part, inner))


def name_of(words: Any) -> str:
    """Returns a stage's name, given its entry in a state."""
    text = words if isinstance(words, str) else words[0]
    return str(text).partition("(")[0].partition("#")[0]


def _beginning(skip: int) -> str:
    if not skip:
        return "It starts at the beginning."
    return f"It resumes {count_of(skip, 'example')} after the beginning."
