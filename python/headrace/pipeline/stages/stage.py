"""The common base of stages: plain data, and the facts that everything else asks a stage for."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from difflib import get_close_matches
from enum import Enum, auto
from inspect import get_annotations
from typing import Any, ClassVar, Final, NoReturn, Protocol, TypeAlias, cast, get_origin

from headrace.core import engine
from headrace.core.repr_prefix import without_passwords
from headrace.pipeline.functions.native_function import NativeFunction
from headrace.pipeline.values.types import Feature, Specs

__all__ = [
    "Effect",
    "KeepsComponents",
    "Planning",
    "Stage",
    "Stages",
    "Step",
    "check_names",
    "named",
    "no_component",
    "text",
]

_WORD_BORDER: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Effect(Enum):
    """What a stage does to the examples that reach it, as far as their order is concerned."""

    #: Makes one example of each, and looks at no other.
    EACH = auto()
    #: Makes several examples of one, and looks at no other.
    EXPANDS = auto()
    #: Keeps each example for which a function is true.
    FILTERS = auto()
    #: Keeps each example whose record belongs to one part of the data.
    SPLITS = auto()
    #: Drops the examples at which an earlier stage fails.
    SKIPS_ERRORS = auto()
    #: Keeps the first examples.
    TAKES = auto()
    #: Drops the first examples.
    OMITS = auto()
    #: Keeps the share of a rank.
    DIVIDES = auto()
    #: Keeps the share of one of several readers of a pipeline.
    SHARES = auto()
    #: Puts several examples together.
    GROUPS = auto()
    #: Changes the order.
    REORDERS = auto()
    #: Begins again at the end.
    REPEATS = auto()
    #: Keeps the examples of a pass for later ones.
    KEEPS = auto()


# The facts that steps with an effect have to state; of other steps they are not true.
_FACTS_OF: Final[Mapping[Effect, tuple[str, ...]]] = {
    Effect.SKIPS_ERRORS: ("budget", "raises_at_end"),
    Effect.DIVIDES: ("num_shares", "makes_even", "piece_shard"),
    Effect.SHARES: ("num_shares",),
    Effect.REORDERS: ("full_shuffle",),
    Effect.KEEPS: ("keeps_on_disk",),
}
# The effects that depend on the places of examples in the order.
_OF_PLACES: Final = (Effect.TAKES, Effect.OMITS, Effect.DIVIDES, Effect.SHARES)
# The facts that stages with a seed have to state.
_FACTS_OF_SEEDS: Final = ("draws", "is_seed_given")

#: The stages of a pipeline: a source, and the steps after it.
Stages: TypeAlias = "tuple[Stage, ...]"


def text(value: object) -> str:
    """Returns a value of a stage as a program writes it."""
    if isinstance(value, Feature) and value == Feature(value.dtype) and value.default is None:
        value = value.dtype
    if isinstance(value, type) or hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    if isinstance(value, tuple):
        return f"({', '.join(text(item) for item in value)})"
    return repr(value)


def named(default: Any, keyword: str = "") -> Any:
    """Returns a field that is written as a keyword argument, under its own name by default."""
    return field(default=default, metadata={"is_named": True, "keyword": keyword})


class Stage(ABC):
    """A source of a pipeline, or a step after it.

    A class that is not a base (`is_base=True`) has to state each fact that its bases leave open, or
    it cannot be defined. `Stage` and its two kinds answer for stages that a fact cannot apply to:
    one without a seed draws nothing. A class that a fact does apply to must state it.

    Attributes:
        facts: The names of facts that classes state.
        added_axes: The number of leading axes that it adds: 1 for a batch, -1 for what splits one.
        is_seed_given: False if a seed was drawn because the program gave none.
        parts: The pipelines that a source combines, each as its stages.
    """

    facts: ClassVar[tuple[str, ...]] = ()

    added_axes: ClassVar[int]
    is_seed_given: bool = True
    parts: "tuple[Stages, ...]" = ()

    def __init_subclass__(cls, is_base: bool = False) -> None:
        if is_base:
            return
        open_facts = [name for name in cls._required_facts() if not _is_stated(cls, name)]
        open_facts += [
            name
            for name in dir(cls)
            if getattr(getattr(cls, name, None), "__isabstractmethod__", False)
        ]
        if open_facts:
            raise TypeError(f"the stage {cls.__name__} does not state {', '.join(open_facts)}")

    @classmethod
    def _required_facts(cls) -> Iterator[str]:
        """Yields the names of the facts that the class has to state."""
        yield from cls.facts
        if _is_stated(cls, "seed"):
            yield from _FACTS_OF_SEEDS

    @property
    def name(self) -> str:
        """Its name in messages: that of the method or the function that adds it."""
        return _WORD_BORDER.sub("_", type(self).__name__).lower()

    @property
    def runs_python(self) -> bool:
        """Whether it calls a function of Python for each example."""
        function = self.called_function
        return function is not None and not isinstance(function, NativeFunction)

    @property
    def draws(self) -> bool:
        """Whether it draws at random, by its seed and the number of the epoch."""
        return False

    @property
    def called_function(self) -> Callable[..., Any] | None:
        """The function of the user that it calls, if there is one."""
        return None

    @property
    def judges_errors(self) -> bool:
        """Whether it skips examples at which an earlier step fails."""
        return False

    @property
    def reads_files(self) -> bool:
        """Whether its examples come from files."""
        return False

    @property
    def reads_objects(self) -> bool:
        """Whether its examples come from an object that only this program has."""
        return False

    @property
    def described_by(self) -> str | None:
        """Its description in states: "" for one made of its fields, None for none."""
        return ""

    @property
    def described_in_state(self) -> str:
        """The text that states add to its description."""
        return ""

    @property
    def num_parallel(self) -> int | None:
        """The largest number of its tasks that run in parallel; None for the number of threads."""
        return None

    @property
    def measured_part(self) -> str:
        """The name of the part of its work that is measured, if it is measured in parts."""
        return ""

    def __str__(self) -> str:
        """Returns the stage as a program writes it, without default values."""
        shown = [
            f"{item.metadata.get('keyword') or item.name}={text(value)}"
            if item.metadata.get("is_named")
            else text(value)
            for item in fields(cast("Any", self))
            if item.repr and (value := getattr(self, item.name)) != item.default
        ]
        return without_passwords(f"{self.name}({', '.join(shown)})")


class Step(Stage, is_base=True):
    """A stage after the source.

    Attributes:
        effect: What it does to examples, as far as their order is concerned.
        needs_values: Whether it needs the values of components, not only the rows' places.
    """

    facts: ClassVar[tuple[str, ...]] = ("effect", "needs_values", "added_axes")

    effect: ClassVar[Effect]
    needs_values: ClassVar[bool]

    @classmethod
    def _required_facts(cls) -> Iterator[str]:
        yield from super()._required_facts()
        yield from _FACTS_OF.get(getattr(cls, "effect", Effect.EACH), ())

    @property
    def judges_errors(self) -> bool:
        """Whether it skips examples at which an earlier step fails."""
        return self.effect is Effect.SKIPS_ERRORS

    @property
    def groups_evenly(self) -> bool:
        """Whether it makes groups of one number of examples."""
        return self.effect is Effect.GROUPS and self.length_after(1) is not None

    @property
    def counts_examples(self) -> bool:
        """Whether it keeps examples by their places in the order."""
        return self.effect in _OF_PLACES

    @property
    def num_shares(self) -> int:
        """The number of ranks or readers of which each keeps a share."""
        return 1

    @property
    def makes_even(self) -> str | None:
        """How it gives all ranks equally many examples; None if it does not."""
        return None

    @property
    def piece_shard(self) -> tuple[int, int] | None:
        """The rank and the number of ranks of which each reads other files; None otherwise."""
        return None

    @property
    def full_shuffle(self) -> bool:
        """Whether it shuffles all examples, and so needs random access to them."""
        return False

    @property
    def keeps_on_disk(self) -> bool:
        """Whether it keeps examples on disk."""
        return False

    @abstractmethod
    def specs_after(self, specs: Specs) -> Specs | None:
        """Returns the components after it; None if they have to be learned from its results.

        Args:
            specs: The components before it.

        Raises:
            ValueError: If it cannot follow.
        """

    @abstractmethod
    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the names of the components after it, where types are unknown.

        Args:
            names: The names before it; None if they are unknown, too.

        Raises:
            ValueError: If it names a missing one.
        """

    @abstractmethod
    def length_after(self, length: float) -> float | None:
        """Returns how many examples come out of it; None if that is not known before it runs.

        Args:
            length: The number of its input examples; `math.inf` for an endless pipeline.
        """

    @abstractmethod
    def plan_into(self, planning: "Planning") -> None:
        """Adds its work to a plan."""


class KeepsComponents(Step, is_base=True):
    """A step after which the components are those before it."""

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the same components."""
        return specs

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the same names."""
        return names


class Planning(Protocol):
    """An unfinished plan, as the step that is being added to it sees it.

    Steps that work on single rows are deferred (`later`), so that they run for those rows alone
    which the next steps keep.

    Attributes:
        plan: The plan of the stages before, without what is deferred.
        turn: The batches of this share, among those of all shares.
        num_ready: The largest number of results that wait for the consumer.
    """

    plan: engine.Plan
    turn: tuple[int, int]
    num_ready: int

    @property
    def chain(self) -> "Sequence[Stage]":
        """All stages of the pipeline."""

    @property
    def index(self) -> int:
        """The number of the step."""

    @property
    def before(self) -> Specs:
        """The components before the step."""

    @property
    def indexes(self) -> engine.IndexFiles:
        """The index files that are read and written."""

    @property
    def is_learning(self) -> bool:
        """Whether components are learned, so that nothing is written."""

    @property
    def number(self) -> int:
        """The number under which the work of the step is counted."""

    def later(self, work: engine.Stage) -> None:
        """Defers work on single rows."""

    def finish_rows(self) -> None:
        """Runs the deferred work here."""

    def finish_waiting(self) -> None:
        """Runs the deferred work here if there is any; otherwise rows need not become blocks."""

    def group(self, rows: engine.Plan, counts_rows: bool = True) -> None:
        """Sets a plan that puts rows together, and measures it."""

    def group_in_order(self, rows: engine.Plan, counts_rows: bool = True) -> None:
        """Sets a plan that puts rows together by their lengths, in an order of its own."""

    def depth(self) -> int:
        """Returns the number of combinations around the step, up to the next cache."""

    def sightings(self, where: str) -> engine.Sightings:
        """Returns a record of which of the components occur that an example may lack."""

    def skipping(self) -> tuple[Any, ...] | None:
        """Returns what the numbers of skipped examples depend on; None if nothing is skipped."""

    def disk_cache(self, directory: str, most_bytes: int | None, key: str | None) -> engine.Plan:
        """Returns the plan with a cache on disk."""

    def shuffle_all(self, index: engine.Index, seed: int) -> engine.Plan:
        """Returns the plan with a shuffle of all examples."""

    def call(self, step: Any) -> None:
        """Calls the function of a step for each row."""


def _is_stated(cls: type[Stage], name: str) -> bool:
    """Returns whether a class states a fact, or one of its bases below the kinds of stages."""
    own = (one for one in cls.__mro__ if issubclass(one, Stage))
    stating = (one for one in own if one is not Stage and Stage not in one.__bases__)
    return any(name in vars(one) or name in _field_names(one) for one in stating)


def _field_names(cls: type) -> list[str]:
    annotations = get_annotations(cls)
    return [name for name, of in annotations.items() if ClassVar not in (of, get_origin(of))]


def check_names(stage: Stage, names: Iterable[str], there: Iterable[str] | None) -> None:
    """Raises ValueError if there is no component of one of the names.

    Args:
        stage: The stage that names them.
        names: The names.
        there: The names of the components; None if they are unknown.
    """
    names_before = None if there is None else list(there)
    for name in names:
        if names_before is not None and name not in names_before:
            no_component(stage, name, names_before)


def no_component(stage: Stage, name: str, names: Iterable[str]) -> NoReturn:
    """Raises the error for a missing component."""
    names_before = list(names)
    near = get_close_matches(name, names_before, 1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"{stage.name}: there is no component {name!r}, expected one of "
        f"{', '.join(map(repr, names_before))}.{hint}"
    )
