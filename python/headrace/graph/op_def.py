"""Definitions of operation types.

Each module of operations defines its types with `define`, next to the functions that add operations
to a graph. Code that depends on the type of an operation (folding, lowering, a session's resources)
looks up its definition.
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
        """Whether the operation is an object that the session keeps between runs."""
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
    """A resource that a session keeps for operations that do not receive it as an input."""

    RECORD_INPUT = "where it is in its files"
    STAGING_AREA = "the staging area of their shared name"


class KernelKind(enum.Enum):
    """The kernel that computes an operation in a run: the NumPy kernel or the engine's."""

    BY_NUMPY = "the NumPy kernel that the operation carries"
    BY_ENGINE = "the native kernel of its type"
    BY_EITHER = "both give the same bits: the engine where rewrites are allowed, else NumPy"
    BY_NUMPY_IN_SESSIONS = "the NumPy kernel in sessions, the native one in pipelines"


@dataclass(frozen=True, slots=True)
class StaticValues:
    """Values of tensors that are known while the graph is being built, for `OpDef.read_sizes`.

    Attributes:
        value: Returns the array that a tensor contains; None if it is unknown.
        sizes: Returns the value of an integer scalar, or of an integer vector as a list. Unknown
            entries are None. Returns None if all entries are unknown.
    """

    value: Callable[..., Any]
    sizes: Callable[..., Any]


class _HasKernel(Protocol):
    """The part of an operation that a definition needs. Its class is in a higher layer."""

    @property
    def kernel(self) -> Callable[..., Any] | None: ...


@dataclass(frozen=True, slots=True)
class OpDef:
    """The definition of one type of operation.

    Attributes:
        type: The name of the type, such as "Add".
        role: The role of these operations in a program.
        is_stateful: Whether a run does more than compute outputs from inputs, or can produce
            different outputs for the same inputs: for example, if it prints, calls a user's
            function or reads files. Such an operation is never computed before a run.
        is_random: Whether these operations draw random numbers. The session keeps a generator for
            each operation.
        is_placeholder: Whether these operations have no value unless one is fed.
        is_own: Whether the type does not exist in TensorFlow, or has different inputs there.
            Messages then describe the outputs of these operations.
        refusal: For a type that is not allowed in any run: returns the error message, given all
            operations that the run needs, each after its inputs. None for other types.
        has_content: Whether the operation depends on a file. The attribute `path` is the file name,
            and `content` is the file's content. Pipeline states include a digest of the content.
        is_stack: Whether the inputs are the rows of the output, so that each row can be known
            separately.
        takes_variable: Whether the first input is a variable itself rather than the variable's
            value.
        kept: The object that the session keeps for these operations, or None.
        queue_class: For a queue, the order of its elements, named after TensorFlow's class.
        queue_input: The index of the input that is a queue which a run may wait for, or None.
        is_enqueue: Whether the operation waits for space in that queue, rather than for elements.
        numpy: Computes the operation with NumPy, given one array per input. None if each operation
            supplies a kernel that depends on its attributes, or if only the engine has a kernel.
        computed: Returns which kernel computes an operation. If None, the NumPy kernel is used if
            there is one, and otherwise the engine's.
        fold: Computes an operation while the graph is built, given the operation and one array per
            input. Used for static shapes that depend on the operation's value. None if no static
            shape depends on it.
        read_sizes: Like `fold`, but for partly known vectors and scalars. Accepts a `StaticValues`
            and the operation, and returns the same as `StaticValues.sizes`.
        batch_rule: Adds operations that compute all rows of a block at once, from inputs with one
            more leading axis; see `headrace.ops.framework.batching`. None if each row is computed
            separately.
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
        """Returns which kernel computes an operation of this type in a run."""
        if self.computed is not None:
            return self.computed(op)
        return KernelKind.BY_ENGINE if op.kernel is None else KernelKind.BY_NUMPY


class _OpAttributes(TypedDict, total=False):
    """The attributes of `OpDef`, except the type."""

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
    """Defines an operation type.

    Args:
        op_type: The name of the type.
        **facts: The attributes of `OpDef` that differ from their defaults.

    Returns:
        The definition.

    Raises:
        ValueError: If the type is already defined.
    """
    if op_type in _definitions:
        raise ValueError(f"operation type '{op_type}' is already defined. Change that definition.")
    _definitions[op_type] = definition = OpDef(op_type, **facts)
    return definition


def definition_of(op_type: str) -> OpDef:
    """Returns the definition of a type, with default values if it is not defined."""
    definition = _definitions.get(op_type)
    return OpDef(op_type) if definition is None else definition


def defined_types() -> list[str]:
    """Returns all defined types."""
    return list(_definitions)
