"""The base class of stages: plain data, plus the attributes that other modules look up."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from enum import Enum, auto
from inspect import get_annotations
from typing import Any, ClassVar, Final, Literal, NoReturn, Protocol, TypeAlias, cast, get_origin

from headrace.core import engine
from headrace.core.repr_prefix import without_passwords
from headrace.pipeline.functions.native_function import NativeFunction
from headrace.pipeline.values.types import Feature, Specs

__all__ = [
    "Effect",
    "KeepsComponents",
    "OrderStage",
    "Planning",
    "Stage",
    "Stages",
    "Step",
    "StepRange",
    "check_names",
    "named",
    "no_component",
    "text",
]

_WORD_BORDER: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Effect(Enum):
    """The effect of a stage on the examples that reach it and on their order."""

    # Converts each example to one example, independently of the others.
    EACH = auto()
    # Converts each example to any number of examples, independently of the others.
    EXPANDS = auto()
    # Keeps the examples for which a function returns true.
    FILTERS = auto()
    # Keeps the examples whose records belong to one part of the data.
    SPLITS = auto()
    # Drops examples for which an earlier stage fails.
    SKIPS_ERRORS = auto()
    # Keeps the first examples.
    TAKES = auto()
    # Drops the first examples.
    OMITS = auto()
    # Keeps one rank's share.
    DIVIDES = auto()
    # Keeps one reader's share, when several readers divide a pipeline's batches.
    SHARES = auto()
    # Combines several examples into one.
    GROUPS = auto()
    # Combines the neighbours of each example.
    WINDOWS = auto()
    # Changes the order.
    REORDERS = auto()
    # Draws examples with replacement.
    SAMPLES = auto()
    # Starts over at the end.
    REPEATS = auto()
    # Stores the examples of the first pass for later passes.
    KEEPS = auto()


# The stages that need random access to all examples.
OrderStage: TypeAlias = Literal["shuffle", "sample"]

# The attributes that a step with a given effect must define. Other steps don't have them.
_FACTS_OF: Final[Mapping[Effect, tuple[str, ...]]] = {
    Effect.SKIPS_ERRORS: ("budget", "raises_at_end"),
    Effect.DIVIDES: ("num_shares", "makes_even", "piece_shard"),
    Effect.SHARES: ("num_shares",),
    Effect.REORDERS: ("full_shuffle",),
    Effect.SAMPLES: ("num_drawn",),
    Effect.KEEPS: ("keeps_on_disk",),
}
# Effects that depend on the position of an example in the order.
_OF_PLACES: Final = (Effect.TAKES, Effect.OMITS, Effect.DIVIDES, Effect.SHARES)
# The attributes that a stage with a seed must define.
_FACTS_OF_SEEDS: Final = ("draws", "is_seed_given")

# The stages of a pipeline: a source and the steps after it.
Stages: TypeAlias = "tuple[Stage, ...]"
# The first step, and the step after the last one. A step is the number of a batch.
StepRange: TypeAlias = tuple[int, int]


def text(value: object) -> str:
    """Formats a stage argument as Python source."""
    if isinstance(value, Feature) and value == Feature(value.dtype) and value.default is None:
        value = value.dtype
    if isinstance(value, type) or hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    if isinstance(value, tuple):
        return f"({', '.join(text(item) for item in value)})"
    return repr(value)


def named(default: Any, keyword: str = "") -> Any:
    """Returns a dataclass field that is printed as a keyword argument."""
    return field(default=default, metadata={"is_named": True, "keyword": keyword})


class Stage(ABC):
    """A source, or a step that follows one.

    A concrete class (one defined without `is_base=True`) must define every attribute that its bases
    leave open. Otherwise, defining the class raises TypeError. `Stage` and its two kinds define
    attributes only for stages whose value is obvious: for example, a stage without a seed draws no
    random numbers.

    Attributes:
        facts: The names of the attributes that subclasses must define.
        added_axes: The number of leading axes the stage adds: 1 if it batches, -1 if it splits
            batches.
        is_seed_given: Whether the user passed a seed. If not, a random seed was drawn.
        parts: The pipelines that a source combines, each as a tuple of stages.
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
            raise TypeError(f"the stage {cls.__name__} does not define {', '.join(open_facts)}")

    @classmethod
    def _required_facts(cls) -> Iterator[str]:
        """Yields the names of the attributes that the class must define."""
        yield from cls.facts
        if _is_stated(cls, "seed"):
            yield from _FACTS_OF_SEEDS

    @property
    def name(self) -> str:
        """The stage's name in messages: the method or function that adds it."""
        return _WORD_BORDER.sub("_", type(self).__name__).lower()

    @property
    def runs_python(self) -> bool:
        """Whether the stage calls a Python function for each example."""
        function = self.called_function
        return function is not None and not isinstance(function, NativeFunction)

    @property
    def draws(self) -> bool:
        """Whether the stage draws random numbers, which depend on the seed and the epoch."""
        return False

    @property
    def called_function(self) -> Callable[..., Any] | None:
        """The user's function, if the stage calls one."""
        return None

    @property
    def judges_errors(self) -> bool:
        """Whether the stage skips examples that an earlier step fails on."""
        return False

    @property
    def reads_files(self) -> bool:
        """Whether the stage's examples come from files."""
        return False

    @property
    def reads_objects(self) -> bool:
        """Whether the examples come from an object that exists only in this process."""
        return False

    @property
    def is_growing(self) -> bool:
        """Whether a later iteration may yield more examples."""
        return False

    @property
    def described_by(self) -> str | None:
        """The stage's description in saved states: "" to use its fields, None to leave it out."""
        return ""

    @property
    def described_in_state(self) -> str:
        """Text that saved states append to the description."""
        return ""

    @property
    def num_parallel(self) -> int | None:
        """The maximum number of parallel tasks, or None for the number of threads."""
        return None

    @property
    def measured_part(self) -> str:
        """The name of the measured part of the stage's work, if parts are measured separately."""
        return ""

    def __str__(self) -> str:
        """Formats the stage as a method call, without default values."""
        shown = [
            f"{item.metadata.get('keyword') or item.name}={text(value)}"
            if item.metadata.get("is_named")
            else text(value)
            for item in fields(cast("Any", self))
            if item.repr and (value := getattr(self, item.name)) != item.default
        ]
        return without_passwords(f"{self.name}({', '.join(shown)})")


class Step(Stage, is_base=True):
    """A stage that follows the source.

    Attributes:
        effect: How the step affects examples and their order.
        needs_values: Whether the step needs component values, and not just row positions.
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
        """Whether the stage skips examples that an earlier step fails on."""
        return self.effect is Effect.SKIPS_ERRORS

    @property
    def groups_evenly(self) -> bool:
        """Whether all of the step's groups have the same number of examples."""
        return self.effect is Effect.GROUPS and self.length_after(1) is not None

    @property
    def reads_late(self) -> bool:
        """Whether the step runs after the stages that only move row numbers, to read less."""
        return False

    @property
    def counts_examples(self) -> bool:
        """Whether the step selects examples by their position in the order."""
        return self.effect in _OF_PLACES

    @property
    def num_shares(self) -> int:
        """The number of ranks or readers that the examples are divided among."""
        return 1

    @property
    def makes_even(self) -> str | None:
        """How every rank gets the same number of examples, or None if ranks may differ."""
        return None

    @property
    def piece_shard(self) -> tuple[int, int] | None:
        """The rank and number of ranks if each rank reads different files, otherwise None."""
        return None

    @property
    def left_out(self) -> tuple[StepRange, ...]:
        """The steps whose batches are omitted."""
        return ()

    @property
    def full_shuffle(self) -> bool:
        """Whether the step shuffles or samples all examples, which requires random access."""
        return False

    @property
    def counts_ranks(self) -> bool:
        """Whether ranks stay in step only if no later example is skipped."""
        return False

    @property
    def num_drawn(self) -> int | None:
        """The number of output examples, if it does not depend on the number of input examples."""
        return None

    @property
    def keeps_on_disk(self) -> bool:
        """Whether the step stores examples on disk."""
        return False

    def keeps_component(self, name: str) -> bool:
        """Returns whether the step is known to leave a component of each example unchanged."""
        return False

    @abstractmethod
    def specs_after(self, specs: Specs) -> Specs | None:
        """Returns the components after this step, or None if it must run to determine them.

        Args:
            specs: The components before this step.

        Raises:
            ValueError: If the step cannot follow these components.
        """

    @abstractmethod
    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the component names after this step, for pipelines whose types are unknown.

        Args:
            names: The component names before this step, or None if unknown.

        Raises:
            ValueError: If the step refers to a component that does not exist.
        """

    @abstractmethod
    def length_after(self, length: float) -> float | None:
        """Returns the number of output examples, or None if it is unknown until the step runs.

        Args:
            length: The number of input examples; `math.inf` for an endless pipeline.
        """

    @abstractmethod
    def plan_into(self, planning: "Planning") -> None:
        """Adds this step to a plan."""


class KeepsComponents(Step, is_base=True):
    """A step that does not change the components."""

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the same components."""
        return specs

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the same names."""
        return names

    def keeps_component(self, name: str) -> bool:
        """Returns True."""
        return True


class Planning(Protocol):
    """The part of a plan under construction that the current step uses.

    Work on single rows is deferred (see `later`). It then runs only for the rows that the next
    steps keep.

    Attributes:
        plan: The plan of the preceding stages, without their deferred work.
        turn: The index of this share and the number of shares. The batches of the shares alternate.
        num_ready: The maximum number of results that wait for the consumer.
        lanes: The lanes of the execution, if it produces the batches of several ranks.
    """

    plan: engine.Plan
    turn: tuple[int, int]
    num_ready: int
    lanes: engine.Lanes | None

    @property
    def chain(self) -> "Sequence[Stage]":
        """All stages of the pipeline."""

    @property
    def index(self) -> int:
        """The index of the step."""

    @property
    def before(self) -> Specs:
        """The components before this step."""

    @property
    def indexes(self) -> engine.IndexFiles:
        """The index files to read and write."""

    @property
    def is_learning(self) -> bool:
        """Whether this plan only learns components. Nothing is then written."""

    @property
    def number(self) -> int:
        """The number under which the step's work is measured."""

    def later(self, work: engine.Stage) -> None:
        """Defers work on single rows."""

    def finish_rows(self) -> None:
        """Runs the deferred work at this point."""

    def finish_waiting(self) -> None:
        """Runs the deferred work at this point, if there is any.

        Unlike `finish_rows`, it does not turn rows into blocks if nothing was deferred.
        """

    def group(self, rows: engine.Plan, counts_rows: bool = True) -> None:
        """Sets a plan that groups rows, and measures it."""

    def group_in_order(self, rows: engine.Plan, counts_rows: bool = True) -> None:
        """Sets a plan that groups rows by length, in a new order, and measures it."""

    def depth(self) -> int:
        """Returns how many levels of combined pipelines enclose the step, up to the next cache."""

    def seen_components(self, where: str) -> engine.SeenComponents:
        """Returns a record of which optional components have occurred so far."""

    def skipping(self) -> tuple[Any, ...] | None:
        """Returns a key for the counts of skipped examples, or None if nothing is skipped."""

    def disk_cache(self, directory: str, most_bytes: int | None, key: str | None) -> engine.Plan:
        """Returns the plan with a disk cache added."""

    def shuffle_all(
        self, index: engine.Index, seed: int, sampling: engine.Sampling | None = None
    ) -> engine.Plan:
        """Returns the plan with a full shuffle added, or with draws if there is a sampling."""

    def depend_on(self, name: str, digest: str) -> None:
        """Adds content that the examples depend on, besides the files of the sources."""

    def call(self, step: Any) -> None:
        """Calls a step's function for each row."""


def _is_stated(cls: type[Stage], name: str) -> bool:
    """Returns whether a class or one of its concrete bases defines an attribute."""
    own = (one for one in cls.__mro__ if issubclass(one, Stage))
    stating = (one for one in own if one is not Stage and Stage not in one.__bases__)
    return any(name in vars(one) or name in _field_names(one) for one in stating)


def _field_names(cls: type) -> list[str]:
    annotations = get_annotations(cls)
    return [name for name, of in annotations.items() if ClassVar not in (of, get_origin(of))]


def check_names(stage: Stage, names: Iterable[str], there: Iterable[str] | None) -> None:
    """Raises ValueError if any of the names is not a component.

    Args:
        stage: The stage that refers to them.
        names: The names to check.
        there: The existing component names, or None if they are unknown.
    """
    names_before = None if there is None else list(there)
    for name in names:
        if names_before is not None and name not in names_before:
            no_component(stage, name, names_before)


def no_component(stage: Stage, name: str, names: Iterable[str]) -> NoReturn:
    """Raises the error for a component that does not exist."""
    from difflib import get_close_matches  # noqa: PLC0415 (loaded for errors only)

    names_before = list(names)
    near = get_close_matches(name, names_before, 1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"{stage.name}: there is no component {name!r}, expected one of "
        f"{', '.join(map(repr, names_before))}.{hint}"
    )
