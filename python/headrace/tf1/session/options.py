"""The options of sessions and runs.

TensorFlow's option messages have dozens of fields. Every field is accepted and stored, so that code
that sets it keeps working. The documentation of each class lists the fields that have an effect.
"""

from operator import index
from typing import TYPE_CHECKING, Any, Final, SupportsIndex, cast

__all__ = [
    "CallableOptions",
    "ConfigProto",
    "GraphOptions",
    "OptimizerOptions",
    "RepeatedOptions",
    "RunOptions",
    "ThreadPoolOptionProto",
]


class Options:
    """Named values. Fields that were never set are None."""

    def __init__(self, **fields: object) -> None:
        for name, value in fields.items():
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    if TYPE_CHECKING:

        def __setattr__(self, name: str, value: object) -> None: ...


class _TimedOptions(Options):
    """Options that include a time in milliseconds, which must fit into an int64."""

    _MOST_MS: Final = 2**63 - 1
    _timeout: str

    def __setattr__(self, name: str, value: object) -> None:
        if name == self._timeout and value is not None:
            value = self._checked_ms(name, value)
        super().__setattr__(name, value)

    def _checked_ms(self, name: str, value: object) -> int:
        where = f"{type(self).__name__}: {name} is {value!r}"
        if isinstance(value, bool) or not isinstance(value, SupportsIndex):
            raise TypeError(
                f"{where}, expected an integer number of milliseconds. Use 0 to wait forever."
            )
        if not -self._MOST_MS <= index(value) <= self._MOST_MS:
            raise ValueError(
                f"{where}, expected at most {self._MOST_MS} milliseconds. Use 0 to wait forever."
            )
        return index(value)


class OptimizerOptions(Options):
    """Options for the optimization of programs.

    Attributes:
        opt_level: `L0` disables optimizations. The results are the same, but runs are slower.
    """

    L1 = 0
    L0 = -1

    opt_level: int | None


class GraphOptions(Options):
    """Options for the execution of graphs.

    Attributes:
        build_cost_model: If N, every N-th run with the same fetches and feeds writes
            `RunMetadata.cost_graph`, the cost of each operation in microseconds. None, 0 or a
            negative number disables this.
        build_cost_model_after: The number of runs before counting starts.
        infer_shapes: Whether the graph's `GraphDef` has the attribute `_output_shapes`.
        optimizer_options: See `OptimizerOptions`.
    """

    def __init__(self, **fields: object) -> None:
        self.optimizer_options = OptimizerOptions()
        self.rewrite_options = Options()
        super().__init__(**fields)


class ThreadPoolOptionProto(Options):
    """A pool of threads for operations. Accepted and ignored."""


class RepeatedOptions(list[ThreadPoolOptionProto]):
    """A list whose `add` method creates the items."""

    def add(self, **fields: object) -> ThreadPoolOptionProto:
        """Appends an item with these fields and returns it."""
        item = ThreadPoolOptionProto(**fields)
        self.append(item)
        return item


class ConfigProto(_TimedOptions):
    """Options of a session.

    Attributes:
        device_count: For "CPU", the number of devices that `Session.list_devices` returns. This has
            no other effect.
        graph_options: See `GraphOptions`.
        operation_timeout_in_ms: The maximum time that a run may wait. None, 0 or a negative number
            means no limit.
        allow_lossy_feeds: Whether to convert fed numbers that the tensor's dtype cannot represent
            (1.5 becomes the int32 1, 300 becomes the uint8 44), as in TensorFlow. If False, such
            numbers raise a TypeError. If None, they are converted with one RuntimeWarning per
            tensor and session. This option exists only in headrace.
    """

    _timeout = "operation_timeout_in_ms"

    allow_lossy_feeds: bool | None

    operation_timeout_in_ms: int | None

    def __init__(self, **fields: object) -> None:
        self.experimental = Options()
        self.graph_options = GraphOptions()
        self.device_count: dict[str, int] = {}
        self.device_filters: list[str] = []
        pools = fields.pop("session_inter_op_thread_pool", None)
        self.session_inter_op_thread_pool = RepeatedOptions(cast("Any", pools or ()))
        super().__init__(**fields)

    @property
    def cost_steps(self) -> tuple[int, int] | None:
        """The interval and the offset of runs that report the cost of each operation."""
        options = self.graph_options
        every = index(getattr(options, "build_cost_model", None) or 0)
        after = index(getattr(options, "build_cost_model_after", None) or 0)
        return (every, after) if every > 0 else None

    @property
    def num_cpus(self) -> int:
        """The number of "CPU" devices, at least 1."""
        counts = self.device_count or {}
        return max(int(counts.get("CPU") or 1), 1)

    @property
    def rewrites(self) -> bool:
        """Whether programs can be optimized."""
        options = getattr(self.graph_options, "optimizer_options", None)
        return getattr(options, "opt_level", None) != OptimizerOptions.L0


class RunOptions(_TimedOptions):
    """Options of one run.

    Attributes:
        timeout_in_ms: The maximum time that the run can wait. None, 0 or a negative number means
            the session's limit.
        trace_level: Every level except `NO_TRACE` writes the same step statistics to
            `run_metadata`.
        output_partition_graphs: Whether to write the executed part of the graph to `run_metadata`.
    """

    _timeout = "timeout_in_ms"

    NO_TRACE = 0
    SOFTWARE_TRACE = 1
    HARDWARE_TRACE = 2
    FULL_TRACE = 3

    timeout_in_ms: int | None
    trace_level: int | None
    output_partition_graphs: bool | None


class CallableOptions(Options):
    """The arguments of the function that `Session._make_callable_from_options` returns.

    Attributes:
        feed: The names of the tensors to feed, in the order of the function's arguments.
        fetch: The names of the tensors to return.
        target: The names of the operations to run.
        run_options: See `RunOptions`.
    """

    feed: list[str]
    fetch: list[str]
    target: list[str]
    run_options: RunOptions

    def __init__(self, **fields: object) -> None:
        self.feed, self.fetch, self.target = [], [], []
        self.run_options = RunOptions()
        super().__init__(**fields)
