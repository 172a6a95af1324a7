"""A session for shells and notebooks.

Source: `tf.InteractiveSession` in TensorFlow 1.15.
"""

from contextlib import ExitStack

from headrace.graph import Graph, default_session
from headrace.tf1.session.options import ConfigProto
from headrace.tf1.session.session import Session

__all__ = ["InteractiveSession"]


class InteractiveSession(Session):
    """A session that, with its graph, is the thread's default until it is closed."""

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None
    ) -> None:
        super().__init__(target, graph, config)
        self._installed = ExitStack()
        if graph is not None:
            self._installed.enter_context(graph.as_default())
        # The sessions in a notebook can be closed in any order.
        self._installed.enter_context(default_session(self, is_nesting_enforced=False))

    def close(self) -> None:
        """Closes the session, which is then no longer the default session."""
        super().close()
        self._installed.close()
