"""Sessions run graphs.

A run lowers what is asked of it once into a native program, cached by fetches and feeds; running
the program is one native call. It releases the GIL; if it only moves an element, where it waits.

Source: `tf.Session` of TensorFlow 1.15.
"""

import atexit
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Any, Final, TypeAlias

from headrace import engine
from headrace.graph import (
    Graph,
    GraphDef,
    Operation,
    Tensor,
    default_session,
    get_default_graph,
)
from headrace.ops.queues import QueueBase
from headrace.queues import QueueStatistics
from headrace.session.feeding import as_array, convert_feeds
from headrace.session.fetching import FetchPlan
from headrace.session.lowering import Lowering
from headrace.session.options import ConfigProto, RunOptions
from headrace.session.resources import RESOURCE_TYPES, Resources

__all__ = ["InteractiveSession", "Session"]

_ProgramKey: TypeAlias = tuple[tuple[Tensor, ...], tuple[Operation, ...], tuple[Tensor, ...]]

# How long the program's exit waits for Python functions that threads of runners are computing.
_EXIT_SECONDS: Final = 0.5

# What the end of the interpreter has to wake: runner threads are blocked in native calls then.
_open_sessions: "weakref.WeakSet[Session]" = weakref.WeakSet()


class Session:
    """Runs operations of one graph and holds what they keep: queues, variables, readers.

    May be used from many threads at once. Closing it, which `with` does at its end, ends every run
    that is blocked in another thread with `CancelledError`.

    Args:
        target: Accepted for TensorFlow's sake; a string.
        graph: The graph to run; None for the default graph.
        config: See `ConfigProto`.

    Raises:
        TypeError: If an argument is of another type.
    """

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None
    ) -> None:
        if not isinstance(target, (str, bytes)):
            raise TypeError(f"target must be a string, but got {target!r}")
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph)}")
        if config is not None and not isinstance(config, ConfigProto):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
        self._graph = get_default_graph() if graph is None else graph
        self._timeout_ms = None if config is None else config.operation_timeout_in_ms
        self._resources = Resources()
        rewrites = True if config is None else config.rewrites
        self._lowering = Lowering(self._resources, rewrites)
        self._cancellation = engine.Cancellation()
        self._lock = threading.Lock()
        self._programs: dict[_ProgramKey, engine.Program] = {}  # Guarded by the lock.
        # The programs that fetch one thing and are fed nothing. Entries are only ever added.
        self._single: dict[Tensor | Operation, engine.Program] = {}
        # The plans of single fetches, likewise.
        self._plans: dict[Tensor | Operation, FetchPlan] = {}
        self._scopes: list[ExitStack] = []
        _open_sessions.add(self)

    @property
    def graph(self) -> Graph:
        """The graph that this session runs."""
        return self._graph

    @property
    def graph_def(self) -> GraphDef:
        """A plain description of the graph."""
        return self._graph.as_graph_def()

    def run(
        self,
        fetches: Any,
        feed_dict: Any = None,
        options: RunOptions | None = None,
        run_metadata: Any = None,
    ) -> Any:
        """Computes tensors and runs operations. Blocks until all are done.

        Every operation needed runs once; independent ones in any order. One that would block lets
        the others go first.

        Args:
            fetches: A tensor, operation, variable, sparse tensor or a name of one; or lists,
                tuples, named tuples and dicts of fetches.
            feed_dict: Values to take for tensors instead of computing them.
            options: See `RunOptions`.
            run_metadata: Accepted for TensorFlow's sake.

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
        if feed_dict is None and isinstance(fetches, (Tensor, Operation)):
            return self._run_one(fetches, self._timeout(options))
        self._check_usable()
        plan = self._plan(fetches)
        feeds = convert_feeds(self._graph, feed_dict)
        return self._run(plan, feeds, self._timeout(options))

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
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
            return lambda options=None, run_metadata=None: self.run(fetches, options=options)

        def run(*args: Any, options: Any = None, run_metadata: Any = None) -> Any:
            if len(args) != len(keys):
                raise TypeError(f"expected {len(keys)} feed values, got {len(args)}")
            self._check_usable()
            feeds = convert_feeds(self._graph, dict(zip(keys, args, strict=True)))
            return self._run(plan, feeds, self._timeout(options))

        return run

    def make_stop_flag(self) -> engine.StopFlag:
        """Returns a flag that ends `run_loop`."""
        return engine.StopFlag()

    def run_loop(self, op: Operation, stop_flag: engine.StopFlag) -> None:
        """Runs an operation again and again: in one native call without the GIL.

        Python takes part only where the operation needs a Python function.

        Returns when `stop_flag` is set, between two runs; what blocks in a run has to be woken.

        Raises:
            OpError: As soon as a run fails.
            RuntimeError: If the session is closed.
        """
        self._check_usable()
        program = self._program(((), (op,), ()))
        try:
            engine.call_functions(program.run_loop(stop_flag, self._cancellation))
        except engine.EngineError as error:
            engine.raise_op_error(error, self._graph)

    def assign_variable(self, op: Operation, value: Any) -> None:
        """Replaces a variable's value without the graph taking part: headrace's own, for savers.

        Args:
            op: The operation that stands for the variable.
            value: An array of its type.
        """
        variable = self._resources.get(op)
        assert isinstance(variable, engine.Variable)
        dtype = op.outputs[0].dtype.base_dtype
        variable.assign(as_array(value, dtype), dtype.as_datatype_enum)

    def queue_statistics(self, queue: QueueBase) -> QueueStatistics:
        """Returns what a queue of the graph says of itself now. Runs nothing and does not block.

        Raises:
            OpError: If the queue cannot be made.
            TypeError: If it is no queue of its own but one of several, chosen when run.
        """
        op = queue.queue_ref.op
        native = self._resources.get(op) if op.type in RESOURCE_TYPES else None
        if not isinstance(native, engine.Queue):
            raise TypeError(f"queue '{queue.name}' is chosen when run. Ask one of those it may be.")
        return QueueStatistics(**native.stats())

    def close(self) -> None:
        """Ends the session: what blocks in it ends with `CancelledError`. May be called twice."""
        self._cancellation.cancel()

    def as_default(self) -> AbstractContextManager["Session"]:
        """Makes this the default session of the current thread; does not close it."""
        return default_session(self)

    def __enter__(self) -> "Session":
        with ExitStack() as scope:
            scope.enter_context(self._graph.as_default())
            scope.enter_context(self.as_default())
            self._scopes.append(scope.pop_all())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._scopes.pop().close()
        self.close()

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

    def _plan(self, fetches: Any) -> FetchPlan:
        if not isinstance(fetches, (Tensor, Operation)):
            return FetchPlan(self._graph, fetches)
        plan = self._plans.get(fetches)
        if plan is None or not self._graph.is_fetchable(fetches):
            plan = self._plans[fetches] = FetchPlan(self._graph, fetches)
        return plan

    def _run_one(self, fetch: Tensor | Operation, timeout: float | None) -> Any:
        """The way of most runs: one fetch, nothing fed. As little as possible happens here."""
        program = self._single.get(fetch)
        if program is None or not self._graph.is_fetchable(fetch):
            self._check_usable()
            plan = self._plan(fetch)
            program = self._single[fetch] = self._program((plan.tensors, plan.targets, ()))
        self._check_open()
        results = self._execute(program, [], timeout)
        return results[0] if results else None

    def _run(self, plan: FetchPlan, feeds: dict[Tensor, Any], timeout: float | None) -> Any:
        tensors = tuple(tensor for tensor in plan.tensors if tensor not in feeds)
        program = self._program((tensors, plan.targets, tuple(feeds)))
        arrays = [engine.native_array(array) for array in feeds.values()]
        results = self._execute(program, arrays, timeout)
        values = dict(zip(tensors, results, strict=True))
        # A tensor that is fed and fetched is the array that was fed.
        values |= {tensor: feeds[tensor] for tensor in plan.tensors if tensor in feeds}
        return plan.restore(values)

    def _execute(
        self, program: engine.Program, feeds: Sequence[Any], timeout: float | None
    ) -> list[Any]:
        try:
            results = program.run(feeds, self._cancellation, timeout)
            return results if type(results) is list else engine.call_functions(results)
        except engine.EngineError as error:
            engine.raise_op_error(error, self._graph)

    def _program(self, key: _ProgramKey) -> engine.Program:
        program = self._programs.get(key)
        if program is None:
            program = self._lowering.lower(*key)
            with self._lock:
                program = self._programs.setdefault(key, program)
        return program


class InteractiveSession(Session):
    """A session that is the default session and graph of its thread until it is closed."""

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None
    ) -> None:
        super().__init__(target, graph, config)
        self._installed = ExitStack()
        if graph is not None:
            self._installed.enter_context(graph.as_default())
        self._installed.enter_context(self.as_default())

    def close(self) -> None:
        """Ends the session and takes it off the defaults."""
        super().close()
        self._installed.close()


def _end_runs() -> None:
    """Ends all runs before the interpreter exits, and waits a moment for Python functions in them.

    See `crates/python/src/exit.rs` for why.
    """
    engine.begin_exit()
    for session in list(_open_sessions):
        session._cancellation.cancel()
    engine.wait_for_python_functions(_EXIT_SECONDS)


atexit.register(_end_runs)
