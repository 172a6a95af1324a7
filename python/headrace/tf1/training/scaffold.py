"""The parts of a graph for monitored sessions: initializers, checks, summaries and a saver.

Source: `tf.train.Scaffold` in TensorFlow 1.15.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from headrace.graph import (
    GraphKeys,
    Operation,
    Tensor,
    add_to_collection,
    get_collection,
    get_default_graph,
)
from headrace.ops.control.control_flow import group
from headrace.tf1.ops.summary.merge import merge_all
from headrace.tf1.ops.variables.initialization import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from headrace.tf1.saver import Saver
from headrace.tf1.session import Session

__all__ = ["Scaffold"]

_T = TypeVar("_T")

_log = logging.getLogger(__name__)


class Scaffold:
    """The parts of a graph that a monitored session needs.

    `finalize` creates the missing parts.

    Args:
        init_op: Initializes the variables. Defaults to all global variables.
        init_feed_dict: The feeds of `init_op`.
        init_fn: Called with the scaffold and the session after `init_op`.
        ready_op: Returns the names of the variables without a value, a string vector. The vector is
            empty if the session is ready.
        ready_for_local_init_op: Like `ready_op`, but for the variables that `local_init_op` needs.
        local_init_op: Runs in each new session, even if it is restored. By default, it initializes
            the local variables and lookup tables.
        summary_op: The summaries to write. By default, all summaries are merged.
        saver: Saves and restores checkpoints. Defaults to the saver in the collection
            `GraphKeys.SAVERS`, or a new saver.
        copy_from_scaffold: A scaffold to copy any missing parts from.
        local_init_feed_dict: The feeds of `local_init_op`.

    Raises:
        TypeError: If `copy_from_scaffold` is not a scaffold.
    """

    def __init__(
        self,
        init_op: Operation | Tensor | None = None,
        init_feed_dict: Mapping[Any, Any] | None = None,
        init_fn: Callable[["Scaffold", Session], object] | None = None,
        ready_op: Tensor | Operation | None = None,
        ready_for_local_init_op: Tensor | Operation | None = None,
        local_init_op: Operation | Tensor | None = None,
        summary_op: Tensor | None = None,
        saver: Saver | None = None,
        copy_from_scaffold: "Scaffold | None" = None,
        local_init_feed_dict: Mapping[Any, Any] | None = None,
    ) -> None:
        base = copy_from_scaffold
        if base is not None and not isinstance(base, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")

        def given(name: str, value: _T | None) -> _T | None:
            return value if value is not None or base is None else getattr(base, f"_{name}")

        self._init_op = given("init_op", init_op)
        self._init_feed_dict = given("init_feed_dict", init_feed_dict)
        # A copied scaffold has its own function, which uses the scaffold itself.
        self._user_init_fn: Callable[[Scaffold, Session], object] | None = init_fn
        self._init_fn: Callable[[Session], object] | None = given(
            "init_fn", self._call_init_fn if init_fn else None
        )
        self._ready_op = given("ready_op", ready_op)
        self._ready_for_local_init_op = given("ready_for_local_init_op", ready_for_local_init_op)
        self._local_init_op = given("local_init_op", local_init_op)
        self._local_init_feed_dict = given("local_init_feed_dict", local_init_feed_dict)
        self._summary_op = given("summary_op", summary_op)
        self._saver = given("saver", saver)

    def _call_init_fn(self, session: Session) -> None:
        assert self._user_init_fn is not None
        self._user_init_fn(self, session)

    def finalize(self) -> "Scaffold":
        """Creates the missing parts, then finalizes the default graph.

        Raises:
            RuntimeError: If the collection for a part has several items.
        """
        get = Scaffold.get_or_default
        if self._init_op is None:
            self._init_op = get("init_op", GraphKeys.INIT_OP, global_variables_initializer)
        if self._ready_op is None:
            self._ready_op = get("ready_op", GraphKeys.READY_OP, report_uninitialized_variables)
        if self._ready_for_local_init_op is None:
            self._ready_for_local_init_op = get(
                "ready_for_local_init_op",
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: report_uninitialized_variables(global_variables()),
            )
        if self._local_init_op is None:
            self._local_init_op = get(
                "local_init_op", GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op
            )
        if self._summary_op is None:
            self._summary_op = get("summary_op", GraphKeys.SUMMARY_OP, merge_all)
        if self._saver is None:
            self._saver = get("saver", GraphKeys.SAVERS, lambda: Saver(allow_empty=True))
        assert self._saver is not None
        self._saver.build()
        get_default_graph().finalize()
        _log.info("Graph was finalized.")
        return self

    @property
    def init_fn(self) -> Callable[[Session], object] | None:
        """The function that is called with the session after `init_op`."""
        return self._init_fn

    @property
    def init_op(self) -> Any:
        """Initializes the variables."""
        return self._init_op

    @property
    def ready_op(self) -> Any:
        """Returns the names of the variables without a value."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """Returns the names of the variables without a value that `local_init_op` needs."""
        return self._ready_for_local_init_op

    @property
    def local_init_op(self) -> Any:
        """Runs in each new session."""
        return self._local_init_op

    @property
    def local_init_feed_dict(self) -> Mapping[Any, Any] | None:
        """The feeds of `local_init_op`."""
        return self._local_init_feed_dict

    @property
    def summary_op(self) -> Any:
        """The summaries to write, or None if there are none."""
        return self._summary_op

    @property
    def saver(self) -> Any:
        """Saves and restores checkpoints. It is None before `finalize` if no saver was passed."""
        return self._saver

    @property
    def init_feed_dict(self) -> Mapping[Any, Any] | None:
        """The feeds of `init_op`."""
        return self._init_feed_dict

    @staticmethod
    def get_or_default(
        arg_name: str, collection_key: str, default_constructor: Callable[[], Any]
    ) -> Any:
        """Returns the item in a collection, or creates and adds it if the collection is empty.

        Args:
            arg_name: The name of the item in error messages.
            collection_key: The collection of the default graph.
            default_constructor: A function that creates the item. If it returns None, nothing is
                added.

        Raises:
            RuntimeError: If the collection has several items.
        """
        items = get_collection(collection_key)
        if len(items) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which '
                "one to use by passing it to the tf.Scaffold constructor as:  "
                f"tf.Scaffold({arg_name}=item to use)"
            )
        if items:
            return items[0]
        default = default_constructor()
        if default is not None:
            add_to_collection(collection_key, default)
        return default

    @staticmethod
    def default_local_init_op() -> Operation:
        """Adds an operation that initializes all local variables and lookup tables."""
        tables = get_collection(GraphKeys.TABLE_INITIALIZERS)
        return group(local_variables_initializer(), *tables)
