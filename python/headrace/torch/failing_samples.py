"""Adds the failing sample to errors that datasets raise."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from headrace.core.errors import add_note

__all__ = ["name_samples", "of_item", "of_sample", "of_samples"]

# The maximum number of a batch's indices to list in a message.
_MOST_LISTED: Final = 8


def of_sample(index: object, dataset: object, error: BaseException | None = None) -> str:
    """Returns a phrase that names a sample of a map-style dataset.

    Args:
        index: The index that the sampler yielded.
        dataset: The dataset.
        error: The error that the dataset raised. If it is a lookup error, the phrase includes the
            length of the dataset.
    """
    text = f"the sample with index {index!r}"
    if not isinstance(error, (IndexError, KeyError)):
        return text
    try:
        length = len(dataset)  # type: ignore[arg-type]
        is_outside = not -length <= index < length  # type: ignore[operator]
    except Exception:  # The dataset has no length, or the index is not a number.
        return text
    return f"{text}; the dataset has {length} samples" if is_outside else text


def of_samples(indices: Any) -> str:
    """Returns a phrase that names the samples of a batch."""
    try:
        listed = list(indices)
    except Exception:
        return f"the samples with indices {indices!r}"
    rest = f", … ({len(listed)} in all)" * (len(listed) > _MOST_LISTED)
    return f"the samples with indices {_joined(listed[:_MOST_LISTED])}{rest}"


def of_item(number: int) -> str:
    """Returns a phrase that names a sample of an iterable-style dataset."""
    return f"item {number} of the iterator, counted from 0"


def name_samples(error: BaseException, samples: str) -> None:
    """Adds the failing samples to an exception's text.

    The exception stays the same object. If its class formats the text in its own way, the samples
    are added as a note.
    """
    for change in (_change_key, _change_message, _change_attribute):
        try:
            undo = change(error, f" (at {samples})")
            if samples in str(error):
                return
            undo()
        except Exception:  # A user's class may raise any exception.
            continue
    add_note(error, f"Raised at {samples}.")


def _change_key(error: Any, words: str) -> Callable[[], None]:
    args = error.args
    if isinstance(error, KeyError) and len(args) == 1:
        error.args = (_NamedKey(args[0], words),)
    return lambda: setattr(error, "args", args)


def _change_message(error: Any, words: str) -> Callable[[], None]:
    args = error.args
    if not args:
        error.args = (words.strip(" ()"),)
    elif len(args) == 1 and isinstance(args[0], str):
        error.args = (f"{args[0]}{words}",)
    return lambda: setattr(error, "args", args)


def _change_attribute(error: Any, words: str) -> Callable[[], None]:
    name = "strerror" if isinstance(error, OSError) else "reason"
    before = getattr(error, name)
    if isinstance(before, str):
        setattr(error, name, f"{before}{words}")
    return lambda: setattr(error, name, before)


class _NamedKey:
    """A KeyError's key that is printed together with the failing sample."""

    def __init__(self, key: Any, words: str) -> None:
        self._key: Final = key
        self._words: Final = words

    def __repr__(self) -> str:
        return f"{self._key!r}{self._words}"

    def __eq__(self, other: object) -> bool:
        return bool(self._key == other)

    def __hash__(self) -> int:
        return hash(self._key)


def _joined(items: Sequence[object]) -> str:
    return ", ".join(map(repr, items))
