"""Sessions run graphs.

A run lowers its fetches to a native program. Programs are cached by fetches and feeds. Running one
is one native call, which releases the GIL; a run that only moves an element releases it where it
waits.

Source: `tf.Session` of TensorFlow 1.15.
"""

import atexit
import contextlib
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar, overload

import numpy.typing as npt

from headrace import engine
from headrace.alive import Alive
from headrace.errors import CancelledError, OpError
from headrace.graph import (
    Graph,
    Operation,
    Tensor,
    call_at_reset,
    default_session,
    get_default_graph,
)
from headrace.ops.queues import QueueBase
from headrace.ops.sparse.tensor import SparseTensor, SparseTensorValue
from headrace.queues import QueueStatistics
from headrace.session.cache import RecentlyUsed
from headrace.session.devices import CPU, DeviceAttributes
from headrace.session.feeding import as_array, convert_feeds
from headrace.session.fetching import Fetches, FetchPlan
from headrace.session.flows import flow_of
from headrace.session.lowering import Lowering
from headrace.session.options import ConfigProto, RunOptions
from headrace.session.resources import Resources
from headrace.session.runners import Progress, Runners
from headrace.session.targets import check_target
from headrace.session.waits import Waits, Watch

if TYPE_CHECKING:
    from headrace.protos import GraphDef
    from headrace.session.tracing import Tracing

__all__ = ["Session", "open_sessions"]

_Key = TypeVar("_Key")

_ProgramKey: TypeAlias = tuple[tuple[Tensor, ...], tuple[Operation, ...], tuple[Tensor, ...]]

# A session caches at least so many programs, and at most twice as many.
_NUM_CACHED: Final = 512
# How long the program's exit waits for Python functions that threads of runners are computing.
_EXIT_SECONDS: Final = 0.5

# Woken when the interpreter exits: threads of runners are blocked in native calls then.
_open_sessions: "Alive[Session]" = Alive()


class _NamedTuple(Protocol):
    """A named tuple of fetches, whose values come back in a named tuple of the same class."""

    @property
    def _fields(self) -> tuple[str, ...]: ...


class Session:
    """Runs operations of one graph and owns their state: queues, variables, readers.

    May be used from many threads at once. Closing it, which `with` does at its end, ends every run
    that is blocked in another thread with `CancelledError`.

    Each combination of fetches and feeds is a program of its own. A session keeps those that were
    run last, 512 at least and 1,024 at most, and makes others anew.

    Args:
        target: "", or the target of a `tf.train.Server`: sessions run in this process.
        graph: The graph to run; None for the default graph.
        config: See `ConfigProto`.

    Raises:
        NotFoundError: If the target is another process.
        TypeError: If an argument is of another type.
    """

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None
    ) -> None:
        if not isinstance(target, (str, bytes)):
            raise TypeError(f"target must be a string, but got {target!r}")
        check_target(target)
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph)}")
        if config is not None and not isinstance(config, ConfigProto):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
        self._graph = get_default_graph() if graph is None else graph
        self._timeout_ms = None if config is None else config.operation_timeout_in_ms
        self._has_lossy_feeds = config is not None and bool(config.allow_lossy_feeds)
        self._resources = Resources()
        rewrites = True if config is None else config.rewrites
        self._lowering = Lowering(self._resources, rewrites)
        self._waits = Waits(self)
        self._cancellation = engine.Cancellation(Watch(self._waits), Waits.patience_secs)
        self._runners = Runners(self._cancellation)
        self._lock = threading.Lock()
        self._programs: RecentlyUsed[_ProgramKey, engine.Program] = RecentlyUsed(_NUM_CACHED)
        # The programs that fetch one thing and are fed nothing.
        self._single: RecentlyUsed[Tensor | Operation, engine.Program] = RecentlyUsed(_NUM_CACHED)
        # The plans of single fetches.
        self._plans: RecentlyUsed[Tensor | Operation, FetchPlan] = RecentlyUsed(_NUM_CACHED)
        # The contexts that the `with` block has entered; None outside of one. Guarded by the lock.
        self._scope: ExitStack | None = None
        _open_sessions.add(self)
        # The threads of its runners do not keep a session alive; they end with it.
        weakref.finalize(self, self._runners.life.end_with_session).atexit = False

    @property
    def graph(self) -> Graph:
        """The graph that this session runs."""
        return self._graph

    @property
    def is_closed(self) -> bool:
        """Whether the session was closed: headrace's own."""
        return self._cancellation.is_cancelled()

    @property
    def runners(self) -> Runners:
        """The queue runners of this session: headrace's own, for `QueueRunner`."""
        return self._runners

    @property
    def resources(self) -> Resources:
        """What this session holds: headrace's own, for checkpoints."""
        return self._resources

    @property
    def graph_def(self) -> "GraphDef":
        """The graph as a message; see `Graph.as_graph_def`."""
        return self._graph.as_graph_def()

    @overload
    def run(
        self,
        fetches: Operation,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: object = None,
    ) -> None: ...

    @overload
    def run(
        self,
        fetches: SparseTensor,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: object = None,
    ) -> SparseTensorValue: ...

    @overload
    def run(
        self,
        fetches: _NamedTuple,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: object = None,
    ) -> Any: ...

    @overload
    def run(
        self,
        fetches: tuple[Any, ...],
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: object = None,
    ) -> tuple[Any, ...]: ...

    @overload
    def run(
        self,
        fetches: list[Any],
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: object = None,
    ) -> list[Any]: ...

    @overload
    def run(
        self,
        fetches: dict[_Key, Any],
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: object = None,
    ) -> dict[_Key, Any]: ...

    @overload
    def run(
        self,
        fetches: Fetches,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: object = None,
    ) -> Any: ...

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: object = None,
    ) -> Any:
        """Computes tensors and runs operations. Blocks until all are done.

        Every operation that is needed runs once. Independent operations run in any order; one that
        would block lets the others go first.

        Args:
            fetches: A tensor, operation, variable, sparse tensor or a name of one; or lists,
                tuples, named tuples and dicts of fetches.
            feed_dict: Values to take for tensors instead of computing them.
            options: See `RunOptions`.
            run_metadata: A `tf.RunMetadata` into which the run writes what `options` ask for: when
                each operation began and ended. It is emptied first.

        Returns:
            The values in the structure of `fetches`: arrays that belong to the caller, NumPy
            scalars for scalars, `bytes` for strings, `SparseTensorValue` for sparse tensors, None
            for operations.

        Raises:
            OpError: If an operation fails; `op` is the one that did.
            RuntimeError: If the session is closed or the graph is empty.
            TypeError: If a fetch or feed is of a type that cannot be.
            ValueError: If a fetch or feed does not fit the graph.
        """
        if feed_dict is None and run_metadata is None and isinstance(fetches, (Tensor, Operation)):
            return self._run_one(fetches, self._timeout(options))
        self._check_usable()
        plan = self._plan(fetches)
        feeds = convert_feeds(self._graph, feed_dict, self._has_lossy_feeds)
        return self._run(plan, feeds, options, run_metadata)

    def make_callable(
        self, fetches: Fetches, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Returns a function that runs `fetches`; it takes a value for each of `feed_list`.

        Args:
            fetches: As for `run`.
            feed_list: Tensors to feed, in the order of the function's arguments.
            accept_options: Accepted for TensorFlow's sake: the function always takes `options` and
                `run_metadata` too.

        Raises:
            TypeError: If a fetch cannot be one or `feed_list` is no list. The function raises it if
                it is not given as many values as there are to feed.
            ValueError: If a fetch does not fit the graph.
        """
        if not isinstance(feed_list, (list, tuple, type(None))):
            raise TypeError("`feed_list` must be a list or tuple.")
        plan = FetchPlan(self._graph, fetches)
        keys = list(feed_list or [])
        if not keys and isinstance(fetches, (Tensor, Operation)):
            return lambda options=None, run_metadata=None: self.run(
                fetches, options=options, run_metadata=run_metadata
            )

        def run(
            *args: object, options: RunOptions | None = None, run_metadata: object = None
        ) -> Any:
            if len(args) != len(keys):
                raise TypeError(f"expected {len(keys)} feed values, got {len(args)}")
            self._check_usable()
            given = dict(zip(keys, args, strict=True))
            feeds = convert_feeds(self._graph, given, self._has_lossy_feeds)
            return self._run(plan, feeds, options, run_metadata)

        return run

    def list_devices(self) -> list[DeviceAttributes]:
        """Returns the devices that the session can use: the processors, as one."""
        return [CPU]

    def make_stop_flag(self) -> engine.StopFlag:
        """Returns a flag that ends a loop of `make_loop`."""
        return engine.StopFlag()

    def make_loop(self, op: Operation, stop_flag: engine.StopFlag) -> Callable[[], None]:
        """Returns a function that runs an operation in a loop, in one call without the GIL.

        Python code runs only where the operation needs a Python function.

        The function does not keep the session alive. It returns when `stop_flag` is set, between
        two runs; what blocks in a run has to be woken. It raises an OpError as soon as a run fails.
        It begins when all elements are in its queues that a pause has let in beyond their capacity.

        Raises:
            RuntimeError: If the session is closed.
        """
        self._check_usable()
        program = self._program(((), (op,), ()))
        cancellation, waits = self._runners.life.term.cancellation, self._waits
        filled = [self._resources.get(queue) for queue in flow_of([op]).filled]
        queues = [queue for queue in filled if isinstance(queue, engine.Queue)]

        def run_loop() -> None:
            try:
                for queue in queues:
                    engine.settle_queue(queue, cancellation)
                engine.call_functions(program.run_loop(stop_flag, cancellation))
            except engine.EngineError as error:
                waits.raise_op_error(error)

        return run_loop

    def assign_variable(self, op: Operation, value: npt.ArrayLike) -> None:
        """Replaces a variable's value without running the graph: headrace's own, for savers.

        Args:
            op: The operation that stands for the variable.
            value: An array of its type.
        """
        variable = self._resources.get(op)
        assert isinstance(variable, engine.Variable)
        dtype = op.outputs[0].dtype.base_dtype
        try:
            variable.assign(as_array(value, dtype), dtype.as_datatype_enum)
        except engine.EngineError as error:
            engine.raise_op_error(error, self._graph)

    def queue_statistics(self, queue: QueueBase) -> QueueStatistics:
        """Returns the current statistics of a queue of the graph. Runs nothing and does not block.

        Raises:
            OpError: If the queue cannot be made.
            TypeError: If it is one of several queues, chosen when run.
        """
        op = queue.queue_ref.op
        native = self._resources.get(op) if op.definition.role.is_resource else None
        if not isinstance(native, engine.Queue):
            raise TypeError(f"queue '{queue.name}' is chosen when run. Ask one of those it may be.")
        return QueueStatistics(**native.stats())

    def close(self) -> None:
        """Ends the session: blocked runs raise `CancelledError`. May be called twice."""
        self._cancellation.cancel()
        self._runners.life.end(is_abandoned=False)

    def as_default(self) -> AbstractContextManager["Session"]:
        """Makes this the default session of the current thread; does not close it."""
        return default_session(self)

    def __enter__(self) -> "Session":
        with self._lock:
            if self._scope is not None:
                raise RuntimeError(
                    "Session context managers are not re-entrant. Use `Session.as_default()` if "
                    "you want to enter a session multiple times."
                )
            scope = self._scope = ExitStack()
        scope.enter_context(self._graph.as_default())
        scope.enter_context(self.as_default())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            scope, self._scope = self._scope, None
        if scope is None:
            raise AttributeError("session: its `with` block was left but not entered.")
        try:
            scope.close()
        finally:
            self.close()

    def _end_runners(self) -> None:
        """Ends the runners because the graph was reset, which is the error of their consumers."""
        running = [
            runner
            for runner in self._runners.of_graph(self._graph)
            if runner.progress_in(self) is Progress.RUNNING
        ]
        for runner in running:
            text = "tf.reset_default_graph() ended the queue runners of this session"
            self._runners.fail(runner, CancelledError(None, None, text))
        self._runners.life.end(is_abandoned=True)
        for runner in running:
            with contextlib.suppress(OpError, RuntimeError):
                self.run(runner.cancel_op)

    def _check_open(self) -> None:
        if self._cancellation.is_cancelled():
            engine.linger_at_exit()
            raise RuntimeError("Attempted to use a closed Session.")

    def _check_usable(self) -> None:
        self._check_open()
        if self._graph.version == 0:
            raise RuntimeError(
                "The Session graph is empty.  Add operations to the graph before calling run()."
            )

    def _timeout(self, options: RunOptions | None) -> float | None:
        for timeout_ms in (options and options.timeout_in_ms, self._timeout_ms):
            if timeout_ms and timeout_ms > 0:
                return float(timeout_ms / 1000)
        return None

    def _plan(self, fetches: Fetches) -> FetchPlan:
        if not isinstance(fetches, (Tensor, Operation)):
            return FetchPlan(self._graph, fetches)
        plan = self._plans.get(fetches)
        if plan is None or not self._graph.is_fetchable(fetches):
            plan = self._plans.add(fetches, FetchPlan(self._graph, fetches))
        return plan

    def _run_one(self, fetch: Tensor | Operation, timeout: float | None) -> Any:
        """The fast path of most runs: one fetch, nothing fed. It does as little as possible."""
        program = self._single.young.get(fetch)
        if program is None or not self._graph.is_fetchable(fetch):
            self._check_usable()
            plan = self._plan(fetch)
            program = self._single.add(fetch, self._program((plan.tensors, plan.targets, ())))
        self._check_open()
        results = self._execute(program, [], timeout)
        return results[0] if results else None

    def _run(
        self,
        plan: FetchPlan,
        feeds: dict[Tensor, Any],
        options: RunOptions | None,
        run_metadata: object,
    ) -> Any:
        tensors = tuple(tensor for tensor in plan.tensors if tensor not in feeds)
        key = tensors, plan.targets, tuple(feeds)
        arrays = [engine.native_array(array) for array in feeds.values()]
        tracing = None if run_metadata is None else _begin_tracing(options, run_metadata)
        program = self._program(key) if tracing is None else self._lower(key, tracing)
        results = self._execute(program, arrays, self._timeout(options))
        if tracing is not None:
            tracing.tell(self._graph, self._lowering.needed_ops(*key))
        values = dict(zip(tensors, results, strict=True))
        # The value of a tensor that is both fed and fetched is the array that was fed.
        values |= {tensor: feeds[tensor] for tensor in plan.tensors if tensor in feeds}
        return plan.restore(values)

    def _execute(
        self, program: engine.Program, feeds: Sequence[Any], timeout: float | None
    ) -> list[Any]:
        try:
            results = program.run(feeds, self._cancellation, timeout)
            return results if type(results) is list else engine.call_functions(results)
        except engine.EngineError as error:
            self._waits.raise_op_error(error)
        except BaseException as error:
            self._waits.explain_interrupt(error)
            raise

    def _program(self, key: _ProgramKey) -> engine.Program:
        program = self._programs.get(key)
        return self._programs.add(key, self._lower(key)) if program is None else program

    def _lower(self, key: _ProgramKey, tracing: "Tracing | None" = None) -> engine.Program:
        try:
            return self._lowering.lower(*key, tracing)
        except engine.EngineError as error:
            engine.raise_op_error(error, self._graph)


def _begin_tracing(options: RunOptions | None, run_metadata: object) -> "Tracing | None":
    # Protocol buffers take longer to load than all the rest.
    from headrace.session.tracing import begin_tracing  # noqa: PLC0415

    return begin_tracing(options, run_metadata)


def open_sessions() -> list[Session]:
    """Returns all sessions that somebody holds and nobody has closed."""
    return [session for session in _open_sessions.all() if not session.is_closed]


def _end_runs() -> None:
    """Ends all runs before the interpreter exits, and waits a moment for Python functions in them.

    See `crates/python/src/exit.rs` for why.
    """
    engine.begin_exit()
    for session in _open_sessions.all():
        session._cancellation.cancel()
    engine.wait_for_python_functions(_EXIT_SECONDS)


atexit.register(_end_runs)


def _end_runners_of(graph: Graph) -> None:
    for session in _open_sessions.all():
        if session.graph is graph and not session._cancellation.is_cancelled():
            session._end_runners()


call_at_reset(_end_runners_of)
