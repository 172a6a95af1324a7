"""Summaries: numbers and images for TensorBoard, as serialized `Summary` messages under a tag.

Source: `tf.summary` of TensorFlow 1.15.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from headrace import dtypes
from headrace.graph import GraphKeys, Tensor, add_to_collections, get_collection, name_scope
from headrace.ops.arguments import Input, InputList, apply_op
from headrace.ops.elementwise import FLOATS, INTEGERS
from headrace.shapes import TensorShape

__all__ = ["histogram", "image", "merge", "merge_all", "scalar"]

_NUMBERS: Final = (*FLOATS, *INTEGERS)
_PIXELS: Final = (dtypes.uint8, dtypes.float32, dtypes.float16, dtypes.float64)
_NOT_IN_TAGS: Final = re.compile(r"[^-/\w.]", re.ASCII)


def scalar(
    name: str, tensor: Any, collections: Sequence[str] | None = None, family: str | None = None
) -> Tensor:
    """Makes a summary of one number.

    Args:
        name: Its tag, together with the name scope. What a tag cannot hold becomes "_".
        tensor: A scalar number.
        collections: Where to add the summary; None for `GraphKeys.SUMMARIES`.
        family: Goes before the tag; TensorBoard groups by it.

    Returns:
        A scalar string: a serialized `Summary`, for `FileWriter.add_summary`.

    Raises:
        InvalidArgumentError: When run: `tensor` is no scalar.
        TypeError: If it is not a number.
    """
    values = Input("values", tensor, allowed=_NUMBERS)
    return _summarize("ScalarSummary", "tags", name, values, collections, family)


def histogram(
    name: str, values: Any, collections: Sequence[str] | None = None, family: str | None = None
) -> Tensor:
    """Makes a summary of how often values of each size occur in a tensor.

    Args:
        name: As for `scalar`.
        values: Numbers, of any shape.
        collections: As for `scalar`.
        family: As for `scalar`.

    Returns:
        As `scalar`.

    Raises:
        InvalidArgumentError: When run: a value is not finite.
        TypeError: If they are not numbers.
    """
    given = Input("values", values, allowed=_NUMBERS)
    return _summarize("HistogramSummary", "tag", name, given, collections, family)


def image(
    name: str,
    tensor: Any,
    max_outputs: int = 3,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Tensor:
    """Makes a summary of images, as PNG files.

    Bytes are shown as they are. Floats are scaled, in each image alone: from 0 to 255, so that its
    largest value is 255; with negative values so that 0 is 128 and the value furthest from it 1 or
    255. A pixel with a channel that is not finite is red.

    Args:
        name: As for `scalar`. The images' tags are `name/image/0`, `name/image/1` and so on; with
            `max_outputs=1` the one is `name/image`.
        tensor: uint8 or floats, (batch, height, width, channels): 1 channel for grey, 3 for RGB,
            4 with alpha.
        max_outputs: The most images to take, the first of the batch.
        collections: As for `scalar`.
        family: As for `scalar`.

    Returns:
        As `scalar`.

    Raises:
        InvalidArgumentError: When run: `tensor` is of another shape.
        TypeError: If it is of another type.
        ValueError: If `max_outputs` is less than 1.
    """
    if max_outputs < 1:
        raise ValueError(
            f"Attr 'max_images' of 'ImageSummary' Op passed {max_outputs} less than minimum 1."
        )
    try:
        attrs = {"max_images": int(max_outputs)}
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"Expected int for argument 'max_images' not {max_outputs!r}.") from None
    pixels = Input("tensor", tensor, allowed=_PIXELS, default=dtypes.float32)
    return _summarize("ImageSummary", "tag", name, pixels, collections, family, attrs)


def merge(
    inputs: Sequence[Any], collections: Sequence[str] | None = None, name: str | None = None
) -> Tensor:
    """Puts summaries together in one.

    Args:
        inputs: Serialized summaries.
        collections: Where to add the result; None for nowhere.
        name: Name of the operation.

    Returns:
        A scalar string: a serialized `Summary` with the values of all.

    Raises:
        InvalidArgumentError: When run: two have the same tag, or one is no summary.
        ValueError: If there are none.
    """
    if not inputs:
        raise ValueError(
            "List argument 'inputs' to 'MergeSummary' Op with length 0 shorter than minimum "
            "length 1."
        )
    with name_scope(name, "Merge", inputs):
        given = [InputList("inputs", inputs, dtypes.string)]
        op = apply_op("MergeSummary", given, _infer_string, name=name)
    add_to_collections(collections or [], op.outputs[0])
    return op.outputs[0]


def merge_all(
    key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> Tensor | None:
    """Puts all summaries of a collection together in one.

    Args:
        key: Name of the collection.
        scope: Only those whose name matches this regular expression.
        name: Name of the operation.

    Returns:
        As `merge`; None if there are no summaries.
    """
    summaries = get_collection(key, scope=scope)
    return merge(summaries, name=name) if summaries else None


def _summarize(
    op_type: str,
    tag_parameter: str,
    name: str,
    values: Input,
    collections: Sequence[str] | None,
    family: str | None,
    attrs: dict[str, Any] | None = None,
) -> Tensor:
    with _tag_scope(name, family, values.value) as (tag, scope):
        inputs = [Input(tag_parameter, tag, dtypes.string), values]
        op = apply_op(op_type, inputs, _infer_string, name=scope, attrs=attrs)
    summary = op.outputs[0]
    add_to_collections([GraphKeys.SUMMARIES] if collections is None else collections, summary)
    return summary


@contextmanager
def _tag_scope(name: str, family: str | None, values: Any) -> Iterator[tuple[str, str]]:
    """Gives the tag and the name scope of a summary."""
    name = _clean(name)
    if family is None:
        with name_scope(name, values=[values]) as scope:
            yield scope.rstrip("/"), scope
        return
    family = _clean(family)
    # The family stands twice: TensorBoard takes what is before the first slash as the group.
    with name_scope(f"{family}/{name}", values=[values]) as scope:
        yield f"{family}/{scope.rstrip('/')}", scope


def _clean(tag: str) -> str:
    return _NOT_IN_TAGS.sub("_", tag).lstrip("/")


def _infer_string(*_: Tensor) -> list[tuple[dtypes.DType, TensorShape]]:
    return [(dtypes.string, TensorShape([]))]
