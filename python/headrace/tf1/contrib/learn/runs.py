"""`tf.contrib.learn.run_n`: fetches values in a separate session.

Source: `tf.contrib.learn.run_n` in TensorFlow 1.15.
"""

from collections.abc import Mapping
from typing import Any

from headrace.graph import control_dependencies, graph_of
from headrace.tf1.coordinator import Coordinator
from headrace.tf1.ops.lookup import tables_initializer
from headrace.tf1.ops.variables.initialization import (
    global_variables_initializer,
    local_variables_initializer,
)
from headrace.tf1.queue_runners import start_queue_runners
from headrace.tf1.saver import Saver
from headrace.tf1.session import Session

__all__ = ["run_n"]


def run_n(
    output_dict: Mapping[str, Any],
    feed_dict: Mapping[Any, Any] | None = None,
    restore_checkpoint_path: str | None = None,
    n: int = 1,
) -> list[dict[str, Any]]:
    """Fetches values several times in a new, initialized session with running queue runners.

    Args:
        output_dict: The fetches.
        feed_dict: The feeds of each run.
        restore_checkpoint_path: A checkpoint to restore variables from (optional).
        n: The number of runs.

    Returns:
        The values of each run. The list is shorter if the input ends early.

    Raises:
        ValueError: If `output_dict` is empty.
    """
    if not output_dict:
        raise ValueError("run_n: output_dict is empty, expected a dictionary of tensors.")
    graph = graph_of(list(output_dict.values()))
    with graph.as_default(), control_dependencies(None):
        init = [global_variables_initializer(), local_variables_initializer(), tables_initializer()]
        saver = None if restore_checkpoint_path is None else Saver()
    with Session(graph=graph) as session:
        session.run(init)
        if saver is not None:
            saver.restore(session, restore_checkpoint_path)
        coord = Coordinator()
        threads = start_queue_runners(session, coord)
        results: list[dict[str, Any]] = []
        with coord.stop_on_exception():
            while len(results) < n:
                results.append(session.run(dict(output_dict), feed_dict))
        coord.request_stop()
        coord.join(threads)
        return results
