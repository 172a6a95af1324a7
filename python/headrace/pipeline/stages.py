"""The stages of a pipeline: plain data, compared and printed field by field."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, TypeAlias, cast

import numpy.typing as npt

from headrace.pipeline.elements import ElementType, Feature, Ragged, Spec, element_type
from headrace.pipeline.native import Use

__all__ = [
    "Arrays",
    "Batch",
    "Concat",
    "Epochs",
    "Files",
    "Filter",
    "FlatMap",
    "Iterable_",
    "Map",
    "PaddedBatch",
    "Parse",
    "Prefetch",
    "Remainder",
    "Rename",
    "Select",
    "Shard",
    "Shuffle",
    "Skip",
    "Stage",
    "Take",
    "Unbatch",
]

# What becomes of the last examples if they are too few for a batch.
Remainder: TypeAlias = Literal["keep", "drop", "pad"]


def text(value: object) -> str:
    """Returns a value of a stage as people write it."""
    if isinstance(value, Feature) and value == Feature(value.dtype) and value.default is None:
        value = value.dtype
    if isinstance(value, type) or hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    if isinstance(value, tuple):
        return f"({', '.join(text(item) for item in value)})"
    return repr(value)


class Stage:
    """One step of a pipeline."""

    @property
    def name(self) -> str:
        """Its name in messages: that of the method that adds it."""
        return _METHODS[type(self)]

    def __str__(self) -> str:
        """Returns it as a program writes it, without what is as by default."""
        shown = [
            text(value)
            for item in fields(cast("Any", self))
            if item.repr and (value := getattr(self, item.name)) != item.default
        ]
        return f"{self.name}({', '.join(shown)})"


@dataclass(frozen=True)
class Files(Stage):
    """Records of files.

    Attributes:
        kind: The name of the function that made it.
        paths: Paths and patterns, as given.
        compression: None, "auto", "gzip" or "zlib".
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
        texts: The names of those that were given as `str`.
    """

    arrays: Mapping[str, npt.NDArray[Any]]
    texts: frozenset[str]

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes it."""
        return "arrays"

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
        return element_type("arrays", array.dtype)

    def __str__(self) -> str:
        parts = (f"{name}: {array.dtype}{array.shape}" for name, array in self.arrays.items())
        return f"arrays({', '.join(parts)})"


@dataclass(frozen=True)
class Iterable_(Stage):
    """Whatever a Python function's iterator yields."""

    factory: Callable[[], Iterable[Mapping[str, Any]]]

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes it."""
        return "iterable"


@dataclass(frozen=True)
class Concat(Stage):
    """Pipelines one after the other, each as its stages."""

    parts: tuple[tuple[Stage, ...], ...]

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes it."""
        return "concat"


@dataclass(frozen=True)
class Parse(Stage):
    """Serialized `Example`s to components."""

    features: tuple[tuple[str, Feature | Ragged], ...]


@dataclass(frozen=True)
class Map(Stage):
    """A function of each example, or of each batch.

    Attributes:
        function: Also gets a generator if there is a seed.
        seed: That of the generators; None for a function that draws nothing.
    """

    use: ClassVar[Use] = "map"

    function: Callable[..., Mapping[str, Any]]
    seed: int | None = None


@dataclass(frozen=True)
class Filter(Stage):
    """Examples for which a function is true."""

    use: ClassVar[Use] = "filter"

    function: Callable[[dict[str, Any]], object]


@dataclass(frozen=True)
class FlatMap(Stage):
    """A function that makes any number of examples of each."""

    use: ClassVar[Use] = "flat_map"

    function: Callable[[dict[str, Any]], Any]


@dataclass(frozen=True)
class Select(Stage):
    """Some of the components."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Rename(Stage):
    """Components under other names."""

    names: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Take(Stage):
    """The first examples."""

    count: int


@dataclass(frozen=True)
class Skip(Stage):
    """All but the first examples."""

    count: int


@dataclass(frozen=True)
class Shard(Stage):
    """Every `count`-th example, from number `index` on."""

    index: int
    count: int


@dataclass(frozen=True)
class Shuffle(Stage):
    """Another order in each epoch: of all examples, or over a window."""

    window: int | None
    seed: int
    is_seed_given: bool = field(compare=False, repr=False)


@dataclass(frozen=True)
class Epochs(Stage):
    """Several times over; for ever if `count` is None."""

    count: int | None


@dataclass(frozen=True)
class Batch(Stage):
    """Groups of examples as arrays with a leading axis."""

    size: int
    remainder: Remainder


@dataclass(frozen=True)
class PaddedBatch(Stage):
    """As `Batch`, of lists that are filled up to the longest one."""

    size: int
    values: tuple[tuple[str, Any], ...] | int | float | bytes | str
    multiple_of: int
    remainder: Remainder


@dataclass(frozen=True)
class Unbatch(Stage):
    """The leading axis taken apart again."""


@dataclass(frozen=True)
class Prefetch(Stage):
    """How many batches may be ready before they are asked for."""

    count: int


_METHODS: dict[type[Stage], str] = {
    Batch: "batch",
    Epochs: "epochs",
    Filter: "filter",
    FlatMap: "flat_map",
    Map: "map",
    PaddedBatch: "padded_batch",
    Parse: "parse",
    Prefetch: "prefetch",
    Rename: "rename",
    Select: "select",
    Shard: "shard",
    Shuffle: "shuffle",
    Skip: "skip",
    Take: "take",
    Unbatch: "unbatch",
}
