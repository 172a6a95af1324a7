"""Stages that a pipeline begins with: files, objects of Python, and combined pipelines."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from headrace.pipeline.describe.stages.stage import Stage, named
from headrace.pipeline.describe.types import ElementType, Spec, array_type
from headrace.pipeline.plan.functions.indexed_rows import IndexedRows
from headrace.pipeline.plan.opened_iterators import Openings

__all__ = [
    "Arrays",
    "Concat",
    "Files",
    "Indexed",
    "Iterable_",
    "Mix",
    "OriginFiles",
    "Zip",
    "parts_of",
]


@dataclass(frozen=True)
class Files(Stage):
    """Records of files.

    Attributes:
        kind: The name of the function that made it.
        paths: Paths and patterns, as given.
        compression: None, "auto", "gzip", "zlib", "zstd", "bzip2", "xz" or "lz4".
        lengths: The bytes of the header, of a record and of the footer, where they are fixed.
    """

    kind: str = field(repr=False)
    paths: tuple[str, ...]
    compression: str | None = None
    lengths: tuple[int, int, int] = (0, 1, 0)

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes it."""
        return self.kind

    @property
    def spec(self) -> dict[str, Spec]:
        """The components of an example."""
        match self.kind:
            case "text_lines":
                return {"text": Spec(bytes, ())}
            case "files":
                return {"path": Spec(str, ()), "data": Spec(bytes, ())}
            case _:
                return {"record": Spec(bytes, ())}


@dataclass(frozen=True, eq=False)
class Arrays(Stage):
    """Rows of arrays in memory.

    Attributes:
        arrays: Strings are arrays of `bytes` objects.
        texts: The names of the arrays given as `str`.
    """

    arrays: Mapping[str, npt.NDArray[Any]]
    texts: frozenset[str]

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes it."""
        return "arrays"

    @property
    def length(self) -> int:
        """The number of examples."""
        return len(next(iter(self.arrays.values())))

    @property
    def spec(self) -> dict[str, Spec]:
        """The components of an example."""
        return {
            name: Spec(self._element_type(name, array), array.shape[1:])
            for name, array in self.arrays.items()
        }

    def _element_type(self, name: str, array: npt.NDArray[Any]) -> ElementType:
        if array.dtype == object:
            return str if name in self.texts else bytes
        return array_type("arrays", array.dtype)

    def __str__(self) -> str:
        parts = (f"{name}: {array.dtype}{array.shape}" for name, array in self.arrays.items())
        return f"arrays({', '.join(parts)})"


@dataclass(frozen=True)
class Iterable_(Stage):
    """Examples of an iterator that a Python function returns.

    Attributes:
        factory: Returns an iterator; with two or more processes, each gets one for its part.
        num_processes: The number of processes that iterate; 0 if this one does.
        openings: The iterators that were made.
    """

    factory: Callable[..., Iterable[Mapping[str, Any]]]
    num_processes: int = named(0)
    openings: Openings = field(default_factory=Openings, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes it."""
        return "iterable"


@dataclass(frozen=True)
class Indexed(Stage):
    """The numbers of the rows of a source that is read by number.

    Attributes:
        length: The number of rows.
        rows: The reader of rows.
        names: The names of the components; None if rows name them.
    """

    length: int
    rows: IndexedRows = field(repr=False)
    names: tuple[str, ...] | None = named(None)

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes it."""
        return "indexed"

    @property
    def spec(self) -> dict[str, Spec]:
        """The components of an example."""
        return {"index": Spec(np.dtype(np.int64), ())}


@dataclass(frozen=True)
class Concat(Stage):
    """Pipelines one after the other, each as its stages."""

    parts: tuple[tuple[Stage, ...], ...]

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes it."""
        return "concat"


@dataclass(frozen=True)
class Mix(Stage):
    """Examples drawn from pipelines, each given as its stages.

    Attributes:
        parts: The stages of each.
        weights: The relative frequency of each.
        seed: The seed of the draws.
        stop: "first" to end with the first that ends, "all" to continue with the others.
        is_seed_given: Whether the program gave the seed.
        part_names: The name of each part; empty if they have none.
        schedule: Later weights, each with the number of the example from which they apply.
        measured: The component whose elements the weights share out; None for examples.
    """

    parts: tuple[tuple[Stage, ...], ...]
    weights: tuple[float, ...]
    seed: int
    stop: Literal["first", "all"] = "first"
    is_seed_given: bool = field(default=False, compare=False, repr=False)
    part_names: tuple[str, ...] = named(())
    schedule: tuple[tuple[int, tuple[float, ...]], ...] = named(())
    measured: str | None = named(None)

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes it."""
        return "mix"

    @property
    def called(self) -> tuple[str, ...]:
        """The names of the parts: their numbers if they have none."""
        return self.part_names or tuple(map(str, range(len(self.parts))))

    @property
    def exhausted(self) -> list[tuple[Stage, ...]] | None:
        """The parts that `stop="all"` draws to their end; None if one may have examples left."""
        weights = zip(self.weights, *(changed for _, changed in self.schedule), strict=True)
        drawn = [
            (part, of_part)
            for part, of_part in zip(self.parts, weights, strict=True)
            if any(of_part)
        ]
        return [part for part, _ in drawn] if all(of_part[-1] for _, of_part in drawn) else None


@dataclass(frozen=True)
class Zip(Stage):
    """Pipelines side by side, each given as its stages."""

    parts: tuple[tuple[Stage, ...], ...]
    strict: bool = True

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes it."""
        return "zip"


def parts_of(source: Stage) -> tuple[tuple[Stage, ...], ...]:
    """Returns the pipelines that a source combines, each as its stages."""
    return source.parts if isinstance(source, (Concat, Mix, Zip)) else ()


@dataclass(frozen=True)
class OriginFiles(Stage):
    """The name of each record's file as the only component, `file`."""

    @property
    def name(self) -> str:
        """Its name in messages."""
        return "with_origin"
