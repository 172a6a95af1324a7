"""Ranks of a node as iterations in one process, for tests that need no separate processes."""

import itertools
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from headrace import Batches, Pipeline
from headrace.pipeline.run.node import local_ranks as local_ranks_module
from headrace.pipeline.run.node import owner as owner_module
from headrace.pipeline.run.node.local_ranks import LocalRanks, check_node

_numbers = itertools.count()
_PATIENCE_S = 10.0


@contextmanager
def shared_ranks(
    pipelines: Sequence[Pipeline], states: Sequence[Any] | None = None
) -> Iterator[list[Batches]]:
    """Starts one iteration for each rank. All share one engine.

    Raises:
        ValueError: If the pipelines cannot be shared.
    """
    name = f"headrace-test-{os.getpid()}-{next(_numbers)}"
    with ExitStack() as stack:
        started = []
        for rank, pipeline in enumerate(pipelines):
            check_node(pipeline._stages, pipeline._options, states is not None)
            ranks = LocalRanks(rank, len(pipelines), name)
            with mock.patch.object(local_ranks_module, "local_ranks", return_value=ranks):
                shared = pipeline.options(node="shared")
                batches = shared.resume(None if states is None else states[rank])
                stack.enter_context(batches)
                # Iterations over objects begin at the first call.
                batches._begin_now()
                started.append(batches)
        yield started
    # The owner notices a little later that all ranks are gone.
    for thread in threading.enumerate():
        if thread.name.startswith("headrace-node"):
            thread.join(_PATIENCE_S)


def end_owner(batches: Batches) -> None:
    """Ends the owner of an iteration's engine, as if its process had been killed."""
    ranks = batches._local_ranks
    assert ranks is not None
    for owner in list(owner_module._owners):
        if owner._ranks.name == ranks.name:
            owner.close()
