"""Definitions of the types of operations.

Each module of operations defines its types with `define`, beside the functions that add them to a
graph. Code that depends on the type of an operation (folding, lowering, the resources of a session)
reads its definition.
"""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypedDict, Unpack

__all__ = [
    "KernelKind",
    "OpDef",
    "Role",
    "SessionResource",
    "StaticValues",
    "define",
    "defined_types",
    "definition_of",
]


class Role(enum.Enum):
    """The role of an operation in a program."""

    BARRIER = "a barrier of the session"
    COMPUTED = "a node"
    CONSTANT = "a value that is the same in every run"
    LOOKUP_TABLE = "a lookup table of the session"
    LOOP = "a program that is run again and again"
    MERGE = "the value of the branch that was taken"
    QUEUE = "a queue of the session"
    READER = "a reader of the session"
    SELECTION = "one of several resources: the one whose position the first input holds"
    SPARSE_TABLE = "the table in which the session parks sparse tensors"
    VARIABLE = "a variable of the session"

    @property
    def is_resource(self) -> bool:
        """True if it is an object that the session keeps between runs."""
        return self in _RESOURCES


_RESOURCES = frozenset(
    {
        Role.BARRIER,
        Role.LOOKUP_TABLE,
        Role.QUEUE,
        Role.READER,
        Role.SPARSE_TABLE,
        Role.VARIABLE,
    }
)


class SessionResource(enum.Enum):
    """A resource that a session keeps for operations that do not have it as an input."""

    RECORD_INPUT = "where it is in its files"
    STAGING_AREA = "the staging area of their shared name"


class KernelKind(enum.Enum):
    """The kernel that computes an operation in a run: NumPy's or the engine's."""

    BY_NUMPY = "the NumPy kernel that the operation carries"
    BY_ENGINE = "the native kernel of its type"
    BY_EITHER = "both give the same bits: the engine where rewrites are allowed, else NumPy"
    BY_NUMPY_IN_SESSIONS = "the NumPy kernel in sessions, the native one in pipelines"


@dataclass(frozen=True, slots=True)
class StaticValues:
    """Facts about tensors while the graph is built, for `OpDef.read_sizes`.

    Attributes:
        value: Returns the array that a tensor holds; None if it is not known.
        sizes: Returns the entries of an integer vector as a list, or an integer scalar, with None
            for each unknown entry; None if all are unknown.
    """

    value: Callable[..., Any]
    sizes: Callable[..., Any]


class _HasKernel(Protocol):
    """The part of an operation that a definition reads; its class is in a module above this one."""

    @property
    def kernel(self) -> Callable[..., Any] | None: ...


@dataclass(frozen=True, slots=True)
class OpDef:
    """The definition of one type of operation.

    Attributes:
        type: The type, such as "Add".
        role: The role of its operations in a program.
        is_stateful: Whether a run does more than compute outputs from inputs, or may give different
            outputs for the same inputs: it prints, calls the user's function, reads files. Such an
            operation is never computed before a run.
        is_random: Whether its operations draw random numbers. The session keeps a generator for
            each of them.
        is_placeholder: Whether its operations have only the value that is fed.
        is_own: Whether TensorFlow does not have this type, or has it with other inputs. Then
            messages describe the outputs of its operations.
        refusal: For a type that no run can have: returns the message of the error, and takes all
            operations that the run needs, each after its inputs. None for other types.
        has_content: Whether it is made from a file: its attribute `path` names the file, and
            `content` is its content. States of pipelines name a digest of it.
        is_stack: Whether its inputs are the rows of its output, each of which may be known alone.
        takes_variable: Whether its first input is a variable itself and not the variable's value.
        kept: The object that the session keeps for its operations; None if nothing.
        queue_class: For a queue: the order of its elements, by the name of TensorFlow's class.
        queue_input: Number of the input that is the queue in which a run may wait; None if there is
            none.
        is_enqueue: Whether it waits for room in that queue rather than for elements.
        numpy: Computes it over NumPy arrays, one for each input; None if each operation brings a
            kernel that depends on its attributes, or if only the engine knows the type.
        computed: Takes an operation and returns the way to compute it; None for its NumPy kernel if
            it has one, else the engine.
        fold: Computes an operation while the graph is built, for static shapes that depend on its
            value: takes the operation and one array for each input. None if no static shape does.
        read_sizes: As `fold`, for vectors and scalars with only some entries known: takes a
            `StaticValues` and the operation, and returns the same as `StaticValues.sizes`.
        batch_rule: Adds operations over inputs with one more leading axis, the rows of a block; see
            `headrace.ops.framework.batching`. None if each row is computed separately.
    """

    type: str
    role: Role = Role.COMPUTED
    is_stateful: bool = False
    is_random: bool = False
    is_placeholder: bool = False
    is_own: bool = False
    refusal: Callable[..., str] | None = None
    has_content: bool = False
    is_stack: bool = False
    takes_variable: bool = False
    kept: SessionResource | None = None
    queue_class: str = ""
    queue_input: int | None = None
    is_enqueue: bool = False
    numpy: Callable[..., Any] | None = None
    computed: Callable[..., KernelKind] | None = None
    fold: Callable[..., Any] | None = None
    read_sizes: Callable[..., Any] | None = None
    batch_rule: Callable[..., Any] | None = None

    def computed_by(self, op: _HasKernel) -> KernelKind:
        """Returns the kernel that computes an operation of this type in a run."""
        if self.computed is not None:
            return self.computed(op)
        return KernelKind.BY_ENGINE if op.kernel is None else KernelKind.BY_NUMPY


class _OpAttributes(TypedDict, total=False):
    """The attributes of `OpDef` after the type."""

    role: Role
    is_stateful: bool
    takes_variable: bool
    kept: SessionResource | None
    queue_class: str
    queue_input: int | None
    is_enqueue: bool
    is_random: bool
    is_placeholder: bool
    is_own: bool
    refusal: Callable[..., str] | None
    has_content: bool
    is_stack: bool
    numpy: Callable[..., Any] | None
    computed: Callable[..., KernelKind] | None
    fold: Callable[..., Any] | None
    read_sizes: Callable[..., Any] | None
    batch_rule: Callable[..., Any] | None


_definitions: dict[str, OpDef] = {}


def define(op_type: str, **facts: Unpack[_OpAttributes]) -> OpDef:
    """Defines a type of operation.

    Args:
        op_type: The type.
        **facts: The attributes of `OpDef` that differ from their defaults.

    Returns:
        The definition.

    Raises:
        ValueError: If the type has a definition already.
    """
    if op_type in _definitions:
        raise ValueError(f"operation type '{op_type}' has a definition already. Change that one.")
    _definitions[op_type] = definition = OpDef(op_type, **facts)
    return definition


def definition_of(op_type: str) -> OpDef:
    """Returns the definition of a type; one with only defaults if none is registered."""
    definition = _definitions.get(op_type)
    return OpDef(op_type) if definition is None else definition


def defined_types() -> list[str]:
    """Returns all types that have a definition."""
    return list(_definitions)
