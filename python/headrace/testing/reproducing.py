"""For your tests: checks that a pipeline has a fixed order and resumes exactly."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from typing import Any, Final

import numpy as np

from headrace.pipeline import Batches, Pipeline, Skipped
from headrace.pipeline.values.nested import NestedList

__all__ = ["assert_resumes", "assert_same_order"]

# Marks the end of the iteration with fewer batches.
_END: Final = object()


def assert_resumes(pipe: Pipeline, every: int = 1) -> None:
    """Asserts that a pipeline resumes exactly from every state of an iteration.

    It iterates once and saves the state after every `every`-th batch, as JSON text. It then resumes
    from each state and compares all following batches byte by byte. With n batches, this reads
    about n^2 / (2 * every) batches. If the pipeline is long or endless, use a larger `every`, or
    add `take(n)` at the end.

    Args:
        pipe: A pipeline with a fixed order.
        every: The number of batches (or examples, without `batch`) between two states, at least 1.

    Raises:
        AssertionError: If batches differ. The message names the state and the first batch,
            component and element that differ.
        FailedPreconditionError: If the pipeline has `options(deterministic=False)`.
        ValueError: If `every` is below 1.

    Examples:
        >>> hr.testing.assert_resumes(hr.arrays({"x": range(10)}).shuffle(seed=7).batch(2))
    """
    if every < 1:
        raise ValueError(f"assert_resumes: every is {every}, expected at least 1.")
    digests: list[str] = []
    states: list[tuple[int, str]] = []
    with iter(pipe) as batches:
        full_run = batches
        states.append((0, json.dumps(batches.state())))
        for number, batch in enumerate(batches, 1):
            digests.append(_digest(batch))
            if number % every == 0:
                states.append((number, json.dumps(batches.state())))
    for number, state in states:
        _check(
            f"after a resume at batch {number}",
            pipe,
            (digests[number:], full_run.skipped),
            number,
            lambda state=state: pipe.resume(json.loads(state)),  # type: ignore[misc]
        )


def assert_same_order(pipe: Pipeline, num_threads: Sequence[int] = (1, 2, 8)) -> None:
    """Asserts that a pipeline yields identical batches regardless of the number of threads.

    Batches are compared byte by byte. The assertion fails, for example, if a Python function uses
    its own random generator.

    Args:
        pipe: A pipeline that is not endless.
        num_threads: The numbers of threads to compare, each at least 1. The first one is the
            reference.

    Raises:
        AssertionError: If batches differ. The message names the number of threads and the first
            batch, component and element that differ.
        ValueError: If `num_threads` is empty, or a number is below 1.

    Examples:
        >>> hr.testing.assert_same_order(hr.arrays({"x": range(10)}).shuffle(seed=7).batch(2))
    """
    if not num_threads:
        raise ValueError("assert_same_order: num_threads is empty, expected at least one number.")
    first, *others = (pipe.options(num_threads=count) for count in num_threads)
    with iter(first) as batches:
        actual = [_digest(batch) for batch in batches], batches.skipped
    for count, other in zip(num_threads[1:], others, strict=True):
        how = f"with {count} threads instead of {num_threads[0]}"
        _check(how, first, actual, 0, lambda other=other: iter(other))  # type: ignore[misc]


def _check(
    how: str,
    pipe: Pipeline,
    actual: tuple[Sequence[str], Sequence[Skipped]],
    first: int,
    start: Callable[[], Batches],
) -> None:
    """Raises AssertionError unless an iteration yields these batches and skips the same examples.

    Args:
        how: How this iteration differs, for messages.
        pipe: The pipeline that yields the expected batches.
        actual: The digests of the batches from number `first` on, and the skipped examples.
        first: The number of the first batch.
        start: Starts the iteration.
    """
    digests, skipped = actual
    with start() as batches:
        differs = _first_difference(digests, map(_digest, batches))
    if differs is None:
        _check_skipped(how, batches.skipped, skipped)
        return
    # The iterations run one after the other, so that functions that count their calls behave the
    # same.
    with start() as batches:
        actual_batch = next(islice(batches, differs, None), _END)
    with iter(pipe) as expected:
        expected_batch = next(islice(expected, first + differs, None), _END)
    raise AssertionError(
        f"{how}: batch {first + differs} {_difference(actual_batch, expected_batch)}"
    )


def _check_skipped(how: str, actual: Sequence[Skipped], expected: Sequence[Skipped]) -> None:
    for number, (one, other) in enumerate(zip_longest(actual, expected)):
        if one != other:
            raise AssertionError(
                f"{how}: skipped example {number} is {one or 'missing'}, expected "
                f"{other or 'no more skipped examples'}"
            )


def _first_difference(digests: Sequence[str], actual: Iterable[str]) -> int | None:
    number = -1
    for number, digest in enumerate(actual):
        if number >= len(digests) or digest != digests[number]:
            return number
    return None if number + 1 == len(digests) else number + 1


def _digest(batch: dict[str, Any]) -> str:
    digest = hashlib.sha256()
    for name, value in batch.items():
        for array in _arrays(value):
            content = array.tobytes() if array.dtype != object else repr(array.tolist()).encode()
            digest.update(f"{name!r} {array.dtype} {array.shape} {len(content)} ".encode())
            digest.update(content)
    return digest.hexdigest()


def _arrays(value: Any, is_inner: bool = False) -> list[Any]:
    """Converts a component to arrays. A list becomes its length and the arrays of its items."""
    if isinstance(value, NestedList) or (is_inner and isinstance(value, list)):
        inner = [array for item in value for array in _arrays(item, True)]
        return [np.asarray(len(value)), *inner]
    return [_array(value)]


def _array(value: Any) -> Any:
    """Converts a component to an array. JSON values and other objects become text."""
    is_objects = isinstance(value, (list, dict)) or value is None
    return np.asarray(repr(value) if is_objects else value)


def _difference(actual: Any, expected: Any) -> str:
    """Describes how a batch differs from the expected batch."""
    if actual is _END:
        return "is missing: there are no more batches"
    if expected is _END:
        return "is one too many: there should be no more batches"
    if list(actual) != list(expected):
        return f"has the components {list(actual)}, expected {list(expected)}"
    for name, value in actual.items():
        pairs = zip_longest(
            _arrays(value), _arrays(expected[name]), fillvalue=np.asarray("missing")
        )
        for one, other in pairs:
            for text in _differences(one, other):
                return f"differs in {name!r}: {text}"
    return "differed, but is the same in another run, so the batches change from run to run"


def _differences(actual: Any, expected: Any) -> Iterator[str]:
    if (actual.dtype, actual.shape) != (expected.dtype, expected.shape):
        yield (
            f"it is {actual.dtype} of shape {actual.shape}, expected {expected.dtype} of shape "
            f"{expected.shape}"
        )
        return
    for position, (one, other) in enumerate(zip(actual.ravel(), expected.ravel(), strict=True)):
        # NaN is treated as equal to itself.
        if not (one is other or one == other or (one != one and other != other)):  # noqa: PLR0124
            index = [int(number) for number in np.unravel_index(position, actual.shape)]
            yield f"element {index} is {_plain(one)!r}, expected {_plain(other)!r}"


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
