"""The rules for showing components, by their names, types and shapes.

`docs/guides/see_your_data.md` documents the rules.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, groupby, repeat, takewhile
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from headrace.core.html import Html, figures, num_bytes, tag
from headrace.core.repr_prefix import printable
from headrace.pipeline.views.pictures import (
    Mask,
    Picture,
    decoded,
    drawn,
    image_format,
    picture_of,
)
from headrace.pipeline.views.sounds import Sound, player, sound_in, sound_of

__all__ = ["Figure", "Reader", "figures_of", "line", "type_of"]

_PICTURE: Final = re.compile(r"image|img|picture|photo|pixel|depth|frame", re.IGNORECASE)
_SOUND: Final = re.compile(r"audio|sound|wave|speech|music|signal|samples", re.IGNORECASE)
_BOX: Final = re.compile(r"box", re.IGNORECASE)
# Such as "box_labels" and "bbox_class".
_BOX_LABEL: Final = re.compile(r"box.*(label|class|categor)", re.IGNORECASE)
_MASK: Final = re.compile(r"mask|segmentation", re.IGNORECASE)
_POINT: Final = re.compile(r"keypoint|landmark", re.IGNORECASE)
_LABEL: Final = re.compile(r"label|class|categor|target", re.IGNORECASE)
_TOKENS: Final = re.compile(r"token|(^|_)ids$|labels", re.IGNORECASE)
_RATE: Final = re.compile(r"rate|(^|_)sr$", re.IGNORECASE)
_SAMPLE_RATE: Final = re.compile(r"sampl|(^|_)sr$", re.IGNORECASE)
# Rates of something else than samples.
_OTHER_RATE: Final = re.compile(r"frame|video|bit|learning", re.IGNORECASE)

_DEFAULT_RATE: Final = 16_000
_MOST_LETTERS: Final = 1_000
_MOST_TOKENS: Final = 512
# Longer arrays become histograms.
_MOST_VALUES: Final = 16
# The number of pictures to show from a list or a video.
_MOST_PICTURES: Final = 8
_NUM_BINS: Final = 32
_MOST_TEXT_COLUMNS: Final = 80


class Figure(NamedTuple):
    """A component in a form that can be shown.

    Attributes:
        name: The name of the component.
        caption: The component's type and shape, and how it is shown.
        content: The content in HTML.
        text: The content as one line of text.
    """

    name: str
    caption: str
    content: Html
    text: str

    def html(self) -> Html:
        """Returns the component with its name."""
        caption = tag("figcaption", tag("code", self.name), " ", tag("small", self.caption))
        return tag("figure", caption, self.content)


@dataclass(frozen=True)
class Reader:
    """The classes and the tokenizer that make values readable.

    Attributes:
        classes: The names of the classes, by label, or None if there are none.
        tokenizer: An object whose method `decode` returns the text of token IDs, or None.
    """

    classes: Sequence[str] | None = None
    tokenizer: Any = None

    def value(self, name: str, value: Any) -> str:
        """Formats a single value. Labels get the name of their class."""
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        text = f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)
        is_label = _is_int(value) and _LABEL.search(name) is not None
        if self.classes is not None and is_label and 0 <= int(value) < len(self.classes):
            return f"{text} ({self.classes[int(value)]})"
        return text

    def tokens(self, ids: npt.NDArray[Any]) -> str:
        """Returns tokens as text, or as numbers if there is no tokenizer."""
        numbers = ids.tolist()
        return (
            " ".join(map(str, numbers))
            if self.tokenizer is None
            else self.tokenizer.decode(numbers)
        )


def type_of(value: Any) -> str:
    """Returns a value's type and shape, such as "uint8 (28, 28)"."""
    if isinstance(value, (np.ndarray, np.generic)):
        shape = f" {value.shape}" if value.shape else ""
        return f"{'strings' if value.dtype == object else value.dtype}{shape}"
    if isinstance(value, bytes):
        return f"bytes, {num_bytes(len(value))}"
    if isinstance(value, list):
        return f"list of {len(value)}"
    return type(value).__name__


def figures_of(example: Mapping[str, Any], reader: Reader) -> list[Figure]:
    """Returns the components of an example. Boxes, masks and keypoints go on its first picture."""
    pictures = {name: found for name, value in example.items() if (found := _pictures(name, value))}
    first = next((found[0] for found in pictures.values() if isinstance(found[0], Picture)), None)
    targets = {} if first is None else dict(_targets(first, example, reader))
    drawn_on = next((name for name, found in pictures.items() if found[0] is first), None)
    made = []
    for name, value in example.items():
        if name in pictures and name not in targets:
            marks = targets if name == drawn_on else {}
            made.append(_shown_pictures(name, value, pictures[name], marks))
        else:
            made.append(_other(name, value, example, reader, name in targets))
    return made


def _pictures(name: str, value: Any) -> list[Picture | str]:
    """Returns the pictures of a component, or why a picture cannot be decoded."""
    if isinstance(value, bytes):
        return [] if image_format(value) is None else [decoded(value)]
    is_named = _PICTURE.search(name) is not None
    if isinstance(value, list) or (isinstance(value, np.ndarray) and value.dtype == object):
        rows = [found for row in list(value)[:_MOST_PICTURES] if (found := _pictures(name, row))]
        return [found[0] for found in rows]
    if not isinstance(value, np.ndarray):
        return []
    if value.ndim == 4 and (value.dtype == np.uint8 or is_named):
        frames = [picture_of(frame, is_named) for frame in value[:_MOST_PICTURES]]
        return [frame for frame in frames if frame is not None]
    picture = picture_of(value, is_named)
    return [] if picture is None else [picture]


class _Marks(NamedTuple):
    """Targets on a picture; see `drawn`."""

    boxes: Sequence[Sequence[float]] = ()
    labels: Sequence[str] = ()
    masks: Sequence[Mask] = ()
    points: Sequence[Sequence[float]] = ()


def _targets(
    picture: Picture, example: Mapping[str, Any], reader: Reader
) -> Iterator[tuple[str, _Marks]]:
    """Yields the components that are drawn on a picture."""
    height, width = picture.pixels.shape[:2]
    for name, value in example.items():
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "buif" or not value.size:
            continue
        if _is_boxes(name, value):
            boxes = _edges(name, np.atleast_2d(value), height, width)
            yield name, _Marks(boxes.tolist(), _box_labels(len(boxes), example, reader))
        elif _POINT.search(name) and value.ndim >= 2 and value.shape[-1] in (2, 3):
            points = value.reshape(-1, value.shape[-1])[:, :2]
            yield name, _Marks(points=_in_pixels(points, height, width).tolist())
        elif _MASK.search(name) and value.shape[-2:] == (height, width) and value.ndim in (2, 3):
            is_several = value.ndim == 3 and len(value) > 1
            masks = value[:_MOST_PICTURES] if is_several else [value.reshape(height, width)]
            colours = count(1) if is_several else repeat(None)
            yield name, _Marks(masks=list(map(Mask, masks, colours)))


def _is_boxes(name: str, value: npt.NDArray[Any]) -> bool:
    is_named = _BOX.search(name) is not None and _BOX_LABEL.search(name) is None
    return is_named and value.ndim in (1, 2) and value.shape[-1] == 4


def _in_pixels(values: npt.NDArray[Any], height: int, width: int) -> npt.NDArray[Any]:
    """Returns coordinates in pixels. Floats from 0 to 1 are shares of the width and the height."""
    is_relative = values.dtype.kind == "f" and np.all((values >= 0) & (values <= 1))
    sizes = np.tile([width, height], values.shape[-1] // 2)
    return values.astype(np.float64) * (sizes if is_relative else 1)


def _edges(name: str, boxes: npt.NDArray[Any], height: int, width: int) -> npt.NDArray[np.float64]:
    """Returns the left, top, right and bottom edges of boxes, in pixels."""
    boxes = _in_pixels(boxes, height, width)
    first, second = boxes[:, :2], boxes[:, 2:]
    if name.lower().endswith("cxcywh"):
        first, second = first - second / 2, first + second / 2
    elif name.lower().endswith("xywh"):
        second = first + second
    return np.concatenate([first, second], axis=1)


def _box_labels(num_boxes: int, example: Mapping[str, Any], reader: Reader) -> list[str]:
    """Returns the text of each box: the first component with one label for each of them.

    Components such as "box_labels" come before others.
    """
    names = [name for name in example if _LABEL.search(name)]
    for name in sorted(names, key=lambda name: _BOX_LABEL.search(name) is None):
        value = example[name]
        if not isinstance(value, (list, np.ndarray)) or np.ndim(value[:1]) != 1:
            continue
        if len(value) == num_boxes and not (_BOX.search(name) and not _BOX_LABEL.search(name)):
            return [reader.value(name, item) for item in value]
    return [""] * num_boxes


def _shown_pictures(
    name: str, value: Any, pictures: Sequence[Picture | str], targets: Mapping[str, _Marks]
) -> Figure:
    failure = next((picture for picture in pictures if isinstance(picture, str)), None)
    found = [picture for picture in pictures if isinstance(picture, Picture)]
    # The targets belong to the first picture of a list.
    columns = zip(*targets.values(), strict=True)
    marks = _Marks(*(list(chain.from_iterable(column)) for column in columns))
    images = [
        drawn(picture, *(marks if not number else _Marks())) for number, picture in enumerate(found)
    ]
    notes = [type_of(value)]
    if isinstance(value, bytes) and found:
        height, width, channels = found[0].pixels.shape
        notes.append(f"{found[0].note}, {height} x {width} x {channels}")
    elif found and found[0].note:
        notes.append(found[0].note)
    if failure is not None:
        notes.append("cannot be decoded")
        images.append(tag("pre", failure))
    if targets:
        notes.append(f"with {', '.join(targets)}")
    text = "picture" if found else failure or ""
    return Figure(name, ", ".join(notes), Html("".join(images)), text)


def _other(
    name: str, value: Any, example: Mapping[str, Any], reader: Reader, is_drawn: bool
) -> Figure:
    """Returns a component that is not a picture."""
    kind = type_of(value)
    sound = None if is_drawn else _sound(name, value, example)
    if isinstance(sound, Sound):
        return Figure(name, f"{kind}, {sound.note}", player(sound), "sound")
    if sound is not None:
        return Figure(name, f"{kind}, cannot be decoded", tag("pre", sound), sound)
    if isinstance(value, np.ndarray) and _is_token_row(name, value, example):
        return _tokens(name, kind, value, example.get("segment_ids"), reader)
    if isinstance(value, np.ndarray) and value.dtype.kind in "buif" and value.size > _MOST_VALUES:
        if is_drawn:
            return Figure(name, f"{kind}, drawn on the picture", Html(""), "")
        return _histogram(name, kind, value)
    text = _text(name, value, reader)
    return Figure(name, kind, tag("pre", _cut(text, _MOST_LETTERS)), text)


def _sound(name: str, value: Any, example: Mapping[str, Any]) -> Sound | str | None:
    if isinstance(value, bytes):
        return sound_in(value)
    is_sound = (
        isinstance(value, np.ndarray)
        and _SOUND.search(name) is not None
        and (value.dtype.kind == "f" or value.dtype == np.int16)
        and (value.ndim == 1 or (value.ndim == 2 and 1 <= value.shape[1] <= 2))
        and len(value) > _MOST_VALUES
    )
    if not is_sound:
        return None
    return sound_of(value, _sample_rate(name, example))


def _sample_rate(sound: str, example: Mapping[str, Any]) -> int:
    """Returns the rate of a sound, from the component whose name fits best, or the default."""
    rates = {
        name: int(value)
        for name, value in example.items()
        if _RATE.search(name) and not _OTHER_RATE.search(name) and _is_int(value) and value > 0
    }

    def fit(name: str) -> tuple[bool, int]:
        same = takewhile(lambda letters: letters[0] == letters[1], zip(name, sound, strict=False))
        return _SAMPLE_RATE.search(name) is not None, len(list(same))

    return rates[max(rates, key=fit)] if rates else _DEFAULT_RATE


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_token_row(name: str, value: npt.NDArray[Any], example: Mapping[str, Any]) -> bool:
    if value.ndim != 1 or value.dtype.kind not in "iu":
        return False
    segments = example.get("segment_ids")
    is_packed = isinstance(segments, np.ndarray) and segments.shape == value.shape
    is_number = name in ("segment_ids", "positions")
    return len(value) > 1 and not is_number and (is_packed or bool(_TOKENS.search(name)))


def _tokens(name: str, kind: str, ids: npt.NDArray[Any], segments: Any, reader: Reader) -> Figure:
    """Returns token rows as text. Each packed example has a colour, and padding is faint."""
    kept = ids[:_MOST_TOKENS]
    is_packed = isinstance(segments, np.ndarray) and segments.shape == ids.shape
    numbers = segments[:_MOST_TOKENS].tolist() if is_packed else [1] * len(kept)
    spans, texts, start = [], [], 0
    for number, group in groupby(numbers):
        end = start + len(list(group))
        if is_packed and number == 0:
            text, style, title = f"{end - start} padding", "opacity:.5", "padding"
        else:
            text, title = reader.tokens(kept[start:end]), f"segment {number}"
            style = f"background:hsl({137 * number % 360} 70% 50% / .25)" if is_packed else ""
        spans.append(tag("span", text, style=style or None, title=title if is_packed else None))
        texts.append(text)
        start = end
    more = f" … {len(ids) - len(kept):,} more" if len(ids) > len(kept) else ""
    caption = f"{kind}, {len(set(numbers) - {0})} segments" if is_packed else kind
    content = tag("pre", *(part for span in spans for part in (span, " ")), more)
    return Figure(name, caption, content, " | ".join(texts))


def _histogram(name: str, kind: str, value: npt.NDArray[Any]) -> Figure:
    finite = value[np.isfinite(value)] if value.dtype.kind == "f" else value.ravel()
    if not finite.size:
        return Figure(name, kind, tag("pre", "no finite values"), "no finite values")
    shares = _shares(finite)
    bins = np.minimum((shares * _NUM_BINS).astype(np.int64), _NUM_BINS - 1)
    counts = np.bincount(bins, minlength=_NUM_BINS)
    least, most, share = finite.min(), finite.max(), float(shares.mean())
    mean = float(least) * (1 - share) + float(most) * share if least < most else least
    text = f"{least:.4g} to {most:.4g}, mean {mean:.4g}"
    if finite.size < value.size:
        text += f", {value.size - finite.size:,} not finite"
    return Figure(name, f"{kind}, {text}", figures(counts.tolist(), text), "")


def _shares(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Returns the positions of finite values between the smallest, 0, and the largest, 1.

    Large values that are close together keep their differences. Equal values get 0.5.
    """
    if values.dtype.kind in "iu":
        # Differences of any integers fit into 64 bits without a sign.
        positions = values.astype(np.uint64)
        distances = (positions - positions[values.argmin()]).astype(np.float64)
    else:
        numbers = values.astype(np.float64)
        # The distance between the largest floats would be infinite.
        numbers = numbers / max(float(np.abs(numbers).max()), 1.0)
        distances = numbers - numbers.min()
    most = distances.max()
    shares: npt.NDArray[np.float64] = distances / most if most else np.full(len(values), 0.5)
    return shares


def _text(name: str, value: Any, reader: Reader) -> str:
    """Returns a value as text."""
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value.item()
    has_arrays = isinstance(value, list) and any(
        isinstance(one, (np.ndarray, bytes)) for one in value
    )
    if isinstance(value, np.ndarray) or has_arrays:
        return _listed(_text(name, item, reader) for item in value)
    if isinstance(value, bytes):
        return _bytes_text(value)
    if isinstance(value, (np.generic, int, float)):
        return reader.value(name, value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _listed(items: Iterator[str]) -> str:
    texts, length = [], 0
    for item in items:
        texts.append(item)
        length += len(item) + 2
        if length > _MOST_LETTERS:
            texts.append("…")
            break
    return f"[{', '.join(texts)}]"


def _bytes_text(value: bytes) -> str:
    start = value[: 4 * _MOST_LETTERS]
    try:
        text = start.decode() if len(start) == len(value) else start[:-4].decode("utf-8", "ignore")
    except UnicodeDecodeError:
        text = "\0"
    if all(letter.isprintable() or letter in "\n\t\r" for letter in text):
        return text
    return f"{value[:64].hex(' ')}{' …' if len(value) > 64 else ''}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… {len(text) - most:,} more characters"


def line(figure: Figure) -> str:
    """Returns a component as one line of text for a terminal."""
    text = printable(" ".join(figure.text[:_MOST_LETTERS].split()))
    if len(text) > _MOST_TEXT_COLUMNS:
        text = f"{text[: _MOST_TEXT_COLUMNS - 1]}…"
    return f"  {printable(f'{figure.name}: {figure.caption}')}{', ' if text else ''}{text}"
