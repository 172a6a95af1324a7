"""`windows`: windows of consecutive examples."""

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.core.digests import sha256
from headrace.pipeline.stages.arguments import check_key, checked_int
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import all_sources, all_steps
from headrace.pipeline.stages.split_by import SplitBy
from headrace.pipeline.stages.stage import (
    Effect,
    Planning,
    Stage,
    Step,
    check_names,
    named,
)
from headrace.pipeline.values.types import Json, Spec, Specs, element_type

__all__ = ["Episodes", "Windows", "WindowsMethod"]

# Positions relative to a window's start.
Offsets: TypeAlias = range | tuple[int, ...]
Pad: TypeAlias = Literal["repeat", "zero"]

_PAD_MARK: Final = "is_pad"
# The largest distance between the first and the last position of a window.
_MOST_DISTANCE: Final = 1 << 24
# After these stages, examples are no longer neighbours. The value is the remedy in the message.
_SCATTERING: Final = {
    Effect.REORDERS: "Shuffle after windows",
    Effect.SAMPLES: "Write sample(...) after windows",
    Effect.DIVIDES: "Write windows before shard",
    Effect.SHARES: "Write windows before it",
    Effect.SPLITS: "Write split(...) after windows",
    Effect.GROUPS: "Call unbatch() first",
    Effect.REPEATS: "Write epochs(...) after windows",
}


class Episodes:
    """The rows of each episode, once a full shuffle or `len` has found them.

    Attributes:
        ranges: The first row of each episode and the row after its last one, or None if they are
            unknown.
        files: Identifies the files in which they were found, or None before the first plan.
    """

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int]] | None = None
        self.files: str | None = None

    @property
    def digest(self) -> str:
        """A digest of the ranges, which must be known."""
        return sha256(np.asarray(self.ranges, np.int64).tobytes()).hexdigest()[:16]

    def find(self, columns: Iterable[npt.NDArray[Any]]) -> None:
        """Finds the episodes.

        Args:
            columns: The values of the component that is constant within an episode, in parts.
        """
        starts, num_rows, last = [0], 0, None
        for column in columns:
            is_first = column[1:] != column[:-1]
            starts += (num_rows + 1 + np.flatnonzero(is_first)).tolist()
            if last is not None and column[0] != last:
                starts.append(num_rows)
            num_rows, last = num_rows + len(column), column[-1]
        self.ranges = list(pairwise([*sorted(set(starts)), num_rows])) if num_rows else []
        self.files = None


@dataclass(frozen=True)
class Windows(Step):
    """Combines consecutive examples.

    Attributes:
        length: The number of examples in a window, or the offsets of some components.
        stride: The number of examples between the starts of two windows.
        within: The component that must be constant within a window.
        pad: How positions beyond the end are filled, or None if windows never extend beyond it.
        episodes: The rows between changes of `within`, once known. Kept between iterations.
    """

    length: int | tuple[tuple[str, Offsets], ...]
    stride: int = named(1)
    within: str | None = named(None)
    pad: Literal["repeat", "zero"] | None = named(None)
    episodes: Episodes = field(default_factory=Episodes, compare=False, repr=False)

    effect: ClassVar = Effect.WINDOWS
    needs_values: ClassVar = True
    added_axes: ClassVar = 0

    @property
    def distances(self) -> list[int]:
        """The offsets of all components together with 0, in ascending order."""
        if isinstance(self.length, int):
            return list(range(self.length))
        return sorted({0}.union(*(offsets for _, offsets in self.length)))

    @property
    def depends_on_episodes(self) -> bool:
        """Whether the number of windows depends on the episodes."""
        return self.within is not None and (self.pad is None or self.stride > 1)

    @property
    def num_drawn(self) -> int | None:
        """The number of windows, if the episodes are known."""
        ranges = self.episodes.ranges
        return None if ranges is None else int(sum(self._num_windows(end - n) for n, end in ranges))

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the components with a first axis for the positions of a window."""
        check_names(self, self._names, specs)
        if self.within is not None:
            check_key("windows: within", self.within, specs[self.within], "iubmM")
        after = {}
        for name, offsets in self._offsets(specs):
            spec = specs[name]
            if offsets is None:
                after[name] = spec
                continue
            if spec.is_ragged or spec.dtype is Json:
                raise ValueError(
                    f"windows: the component {name!r} is {spec}, which has no fixed shape. Pad "
                    "or reshape it in map before windows, or drop it with select."
                )
            after[name] = spec.batched(len(offsets))
        marks = element_type("windows", np.bool_)
        for name, offsets in self._marks:
            if name in after:
                raise ValueError(f"windows: there is already a component {name!r}. Rename it.")
            after[name] = Spec(marks, (len(offsets),))
        return after

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the same names, plus the names of the components that mark padding."""
        check_names(self, self._names, names)
        return None if names is None else (*names, *(name for name, _ in self._marks))

    def keeps_component(self, name: str) -> bool:
        """Returns whether a window has only one value for a component: the value at its start."""
        return all(offsets is None for _, offsets in self._offsets([name]))

    def length_after(self, length: float) -> float | None:
        """Returns the number of windows, or None if it depends on episodes that are unknown."""
        return self.num_drawn if self.depends_on_episodes else self._num_windows(length)

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        names = list(planning.before)
        # Episodes are determined by values, so these must have been computed.
        planning.finish_waiting()
        within = None if self.within is None else names.index(self.within)
        distances = self.distances
        planning.plan = planning.plan.windows(
            distances, self.stride, self.pad is not None, within, self.episodes.ranges
        )
        places = {distance: place for place, distance in enumerate(distances)}
        columns = [
            (name, names.index(name), [places[n] for n in offsets or [0]], offsets is None)
            for name, offsets in self._offsets(names)
        ]
        marks = [(name, None, [places[n] for n in offsets], False) for name, offsets in self._marks]
        planning.later(engine.Stage.stack_windows([*columns, *marks], self.pad == "zero"))

    @property
    def _names(self) -> tuple[str, ...]:
        chosen = () if isinstance(self.length, int) else tuple(name for name, _ in self.length)
        return chosen if self.within is None else (*chosen, self.within)

    @property
    def _marks(self) -> list[tuple[str, Offsets]]:
        """The components that mark padding, with the offsets of their elements."""
        if self.pad is None:
            return []
        if isinstance(self.length, int):
            return [(_PAD_MARK, range(self.length))]
        return [(f"{name}_{_PAD_MARK}", offsets) for name, offsets in self.length]

    def _offsets(self, names: Iterable[str]) -> Iterator[tuple[str, Offsets | None]]:
        """Yields each component's offsets, or None if it keeps the value of the start."""
        if isinstance(self.length, int):
            for name in names:
                yield name, range(self.length)
        else:
            chosen = dict(self.length)
            for name in names:
                yield name, chosen.get(name)

    def _num_windows(self, length: float) -> float:
        distances = self.distances
        span = 0 if self.pad is not None else distances[-1] - distances[0]
        return max(-((span - length) // self.stride), 0)


class WindowsMethod(Chain):
    """The method `windows`."""

    __slots__ = ()

    def windows(
        self,
        length: int | Mapping[str, Iterable[int]],
        stride: int = 1,
        within: str | None = None,
        pad: Pad | None = None,
    ) -> Self:
        """Combines consecutive examples, for example from a time series or a robot episode.

        Each window is one example. Its components have a new first axis, with the values of the
        window's examples in order. Without `within`, windows run across files.

        A full shuffle can follow `windows` if it could follow the stages before it, and if these
        don't call Python functions. It reads only the examples that its windows need. With
        `within`, it first reads this component of all examples to find the episodes. If functions
        come before `windows`, this calls them for all examples.

        A window needs all of its examples, so call `skip_errors` before `windows` to skip damaged
        records. After `windows`, it only skips windows for which a later stage fails.

        Args:
            length: The number of examples in a window, at least 1. To choose the examples of each
                component separately, pass a dict from components to offsets from the start of a
                window: `{"action": range(50), "image": [-2, 0]}`. Other components then have the
                value at the start, without an extra axis.
            stride: The number of examples between the starts of two windows. Windows with
                `stride=length` don't overlap.
            within: A component with integers, bools or strings, such as an episode number. No
                window crosses a change of its value.
            pad: If None, a window never extends beyond its episode (or beyond the data, without
                `within`). Otherwise every example starts a window, or every `stride`-th example of
                an episode. Positions outside the episode repeat its nearest example ("repeat"), or
                are 0, False and empty strings ("zero"). The component `is_pad` (bool, (length,)) is
                True at these positions. If `length` is a dict, there is such a component for each
                key, such as `action_is_pad`.

        Raises:
            TypeError: If an offset is not an int, or `within` is not a string.
            ValueError: If a number is out of range or not an int, a component doesn't exist or has
                no fixed shape, or `pad` is unknown. Also if consecutive examples are not neighbours
                in the data, for example after `shuffle`, `sample`, `shard`, `split`, `batch` or
                `mix`.

        Examples:
            >>> pipe = hr.arrays({"episode": [0, 0, 0, 1, 1], "x": [1, 2, 3, 4, 5]})
            >>> for window in pipe.windows(2, within="episode"):
            ...     print(window["x"])
            [1 2]
            [2 3]
            [4 5]
            >>> for window in pipe.windows({"x": [-1, 0]}, within="episode", pad="zero"):
            ...     print(window["x"], window["x_is_pad"])
            [0 1] [ True False]
            [1 2] [False False]
            [2 3] [False False]
            [0 4] [ True False]
            [4 5] [False False]
        """
        if pad not in (None, *get_args(Pad)):
            raise ValueError(
                f"windows: pad is {pad!r}, expected 'repeat', 'zero' or None for full windows only."
            )
        if within is not None and not isinstance(within, str):
            raise TypeError(f"windows: within is {within!r}, expected the name of a component.")
        chosen = _offsets(length)
        checked_int("windows", "stride", stride, 1)
        windows = Windows(chosen, stride, within, pad)
        # Windows of whole episodes don't depend on whether other episodes are left out before or
        # afterwards. Only with all examples can they be accessed at random.
        num_kept = len(self._stages)
        while (last := self._stages[num_kept - 1]) and isinstance(last, SplitBy):
            if last.by != within:
                break
            num_kept -= 1
        _check_neighbours(self._stages[:num_kept])
        if num_kept == len(self._stages):
            return self._then(windows)
        pipeline = type(self)(self._stages[:num_kept], self._options)._then(windows)
        for split in self._stages[num_kept:]:
            position = _position_of_start(cast("str", within), windows)
            pipeline = pipeline._then(replace(cast("SplitBy", split), position=position))
        return pipeline


def _position_of_start(name: str, windows: Windows) -> int | None:
    """Returns the position of the start's value in a component; None if there is only this value.

    Raises:
        ValueError: If windows have other values of the component, but not the start's.
    """
    ((_, offsets),) = windows._offsets([name])
    if offsets is None:
        return None
    if 0 not in offsets and windows.pad == "zero":
        raise ValueError(
            f"windows: the offsets of {name!r} are {list(offsets)}, but split(by={name!r}) needs "
            "its value at offset 0. Add 0 to the offsets, or omit the component."
        )
    return list(offsets).index(0) if 0 in offsets else 0


def _offsets(length: object) -> int | tuple[tuple[str, Offsets], ...]:
    """Returns the length, or the offsets of each component, after checking them."""
    if not isinstance(length, Mapping):
        number = checked_int("windows", "length", length, 1)
        if number > _MOST_DISTANCE:
            raise ValueError(f"windows: length is {number}, expected at most {_MOST_DISTANCE:,}.")
        return number
    if not length:
        raise ValueError(
            "windows: the dict of offsets is empty, expected at least one component, such as "
            "{'action': range(50)}."
        )
    return tuple((name, _offsets_of(name, offsets)) for name, offsets in length.items())


def _offsets_of(name: object, offsets: object) -> Offsets:
    if not isinstance(name, str):
        raise TypeError(f"windows: {name!r} is not the name of a component, expected a string.")
    try:
        numbers = [operator.index(offset) for offset in cast("Iterable[Any]", offsets)]
    except TypeError:
        raise TypeError(
            f"windows: the offsets of {name!r} are {offsets!r}, expected ints such as range(50) or "
            "[-2, 0]."
        ) from None
    if not numbers or len(set(numbers)) < len(numbers) or max(map(abs, numbers)) > _MOST_DISTANCE:
        raise ValueError(
            f"windows: the offsets of {name!r} are {offsets!r}, expected different ints of at most "
            f"{_MOST_DISTANCE:,}."
        )
    whole = range(numbers[0], numbers[0] + len(numbers))
    return whole if list(whole) == numbers else tuple(numbers)


def _check_neighbours(chain: Sequence[Stage]) -> None:
    """Raises ValueError if examples that follow each other are not neighbours in their source."""
    mixed = next((source for source in all_sources(chain) if source.name == "mix"), None)
    if mixed is not None:
        raise ValueError(
            "windows: cannot come after mix, because it mixes the examples of its parts. Call "
            "windows(...) on each part."
        )
    for step in all_steps(chain):
        if isinstance(step, SplitBy):
            raise ValueError(
                f"windows: cannot come after split(by={step.by!r}), because it needs the "
                f"neighbours of each example. Pass within={step.by!r} and write windows directly "
                "after split, or write split(...) after windows."
            )
        part = getattr(step, "slice", None)
        if part is not None and "+" in part:
            raise ValueError(
                f"windows: cannot come after several slices, {part!r}, because it needs the "
                "neighbours of each example. Read one slice, or concatenate the windows of each."
            )
        if part is None and step.effect in _SCATTERING:
            raise ValueError(
                f"windows: cannot come after {step.name}, because it needs the neighbours of each "
                f"example. {_SCATTERING[step.effect]}."
            )
