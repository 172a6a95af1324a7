"""The ranks of this node, and the names by which they find each other."""

import contextlib
import hashlib
import json
import os
import socket
import struct
import sys
import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from headrace.pipeline.functions.function_state import keeps_state
from headrace.pipeline.run.state import order_of
from headrace.pipeline.stages.cache import Cache
from headrace.pipeline.stages.components import all_stages, all_steps, batch_depth, steps
from headrace.pipeline.stages.shard import Shard
from headrace.pipeline.stages.source import Origin, Source
from headrace.pipeline.stages.stage import Effect, Stage

__all__ = [
    "LocalRanks",
    "bound_socket",
    "check_node",
    "connected",
    "is_own",
    "local_ranks",
    "shard_of",
]

_WHERE: Final = "options: node='shared'"
_VARIABLES: Final = ("LOCAL_RANK", "LOCAL_WORLD_SIZE")
# The variables that distinguish this job from the user's other jobs.
_OF_JOB: Final = (
    "MASTER_ADDR",
    "MASTER_PORT",
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_RESTART_COUNT",
)
_CREDENTIALS: Final = struct.Struct("3i")

_open: "weakref.WeakSet[socket.socket]" = weakref.WeakSet()
# How many iterations of each name this process has started.
_started: "Counter[str]" = Counter()


class LocalRanks(NamedTuple):
    """The ranks of this node that share an iteration.

    Attributes:
        rank: The local rank of this process.
        size: The number of ranks on this node.
        name: The name of the owner's socket.
    """

    rank: int
    size: int
    name: str

    def name_of(self, rank: int) -> str:
        """Returns the name that a rank holds while its iteration is open."""
        return f"{self.name}-{rank}"


def local_ranks(
    chain: Sequence[Stage], options: Mapping[str, Any], epoch: int, is_resumed: bool
) -> LocalRanks | None:
    """Returns this node's ranks that iterate over the same pipeline, or None if there is only one.

    Args:
        chain: The pipeline's stages.
        options: The pipeline's options.
        epoch: The epoch number.
        is_resumed: Whether the iteration resumes from a state. A state contains all seeds.

    Raises:
        RuntimeError: If the ranks of this node are unknown, or the system has no abstract sockets.
        ValueError: If the pipeline cannot be shared.
    """
    texts = [os.environ.get(name) for name in _VARIABLES]
    if texts == [None, None] and os.environ.get("WORLD_SIZE", "1") == "1":
        return None
    try:
        rank, size = (int(text or "") for text in texts)
    except ValueError:
        rank, size = -1, 0
    if not 0 <= rank < size:
        listing = ", ".join(f"{n}={t!r}" for n, t in zip(_VARIABLES, texts, strict=True))
        raise RuntimeError(
            f"{_WHERE} needs the rank of this process on its node, but the environment has "
            f"{listing}. Start the program with torchrun, or set both variables."
        )
    check_node(chain, options, is_resumed)
    if size == 1:
        return None
    if not sys.platform.startswith("linux"):
        raise RuntimeError(f"{_WHERE} needs Linux, but this is {sys.platform}. Remove the option.")
    job = {name: os.environ.get(name) for name in _OF_JOB}
    if not any(job.values()):
        raise RuntimeError(
            f"{_WHERE} needs MASTER_PORT or TORCHELASTIC_RUN_ID, to tell this job from others. "
            "Start the program with torchrun, or set MASTER_PORT to the same number in all ranks."
        )
    shown = {name: str(value) for name, value in options.items()}
    described = [os.getuid(), job, order_of(tuple(map(_of_all, chain))), shown, epoch]
    key = hashlib.sha256(json.dumps(described, default=repr).encode()).hexdigest()[:32]
    _started[key] += 1
    return LocalRanks(rank, size, f"headrace-{key}-{_started[key]}")


def shard_of(chain: Sequence[Stage]) -> int:
    """Returns the index of this process's share, or 0 if all ranks get the same examples."""
    return next((stage.index for stage in chain if isinstance(stage, Shard)), 0)


def _of_all(stage: Stage) -> Stage:
    """Returns a stage without the fields that differ between ranks."""
    return Shard(0, stage.count, stage.even, stage.by) if isinstance(stage, Shard) else stage


def check_node(
    chain: Sequence[Stage], options: Mapping[str, Any], is_resumed: bool = False
) -> None:
    """Checks that ranks can share a pipeline.

    Raises:
        ValueError: If the ranks cannot share it.
    """
    refusal = _refusal(chain, options, is_resumed)
    if refusal is not None:
        raise ValueError(f"{_WHERE} {refusal}")


def _refusal(chain: Sequence[Stage], options: Mapping[str, Any], is_resumed: bool) -> str | None:
    if not batch_depth(chain):
        return "needs batches, but the pipeline yields examples. End it with batch(...)."
    if not options.get("deterministic", True):
        return "needs a fixed order. Remove deterministic=False."
    refusals = (_stage_refusal(stage, is_resumed) for stage in all_stages(chain))
    return _shard_refusal(chain) or next((r for r in refusals if r is not None), None)


def _shard_refusal(chain: Sequence[Stage]) -> str | None:
    shards = [n for n, stage in enumerate(chain) if isinstance(stage, Shard)]
    num_shards = sum(step.effect is Effect.DIVIDES for step in all_steps(chain))
    if num_shards > len(shards):
        return (
            "needs one shard after all combinations, but a combined pipeline has its own. Write "
            "shard(...) after mix, concat or zip."
        )
    if len(shards) > 1:
        return f"works with one shard, but the pipeline has {len(shards)}. Combine them."
    if any(step.piece_shard is not None for step in steps(chain)):
        return (
            "has no effect with shard(..., by='piece'), because each rank then reads different "
            "files. Remove one of the two."
        )
    behind = steps(chain)[shards[0] :] if shards else ()
    if any(step.effect is Effect.SAMPLES for step in behind):
        return "does not work with a sample after shard. Write sample(...) before shard(...)."
    if any(isinstance(stage, Cache) for stage in behind):
        return "does not work with a cache after shard. Write cache(...) before shard(...)."
    return None


def _stage_refusal(stage: Stage, is_resumed: bool) -> str | None:
    if isinstance(stage, Source) and stage.reads_on_request:
        return f"does not work with {stage.name}, whose rows arrive while it is read."
    if isinstance(stage, Source) and stage.origin is Origin.ITERATOR:
        return f"does not work with {stage.name}, whose iterator belongs to one process."
    if keeps_state(stage.called_function):
        return f"does not work with {stage}, whose function keeps a state. Remove the option."
    if not (is_resumed or stage.is_seed_given or getattr(stage, "seed", None) is None):
        return f"needs the same order in all ranks, but {stage.name} has no seed. Pass seed=."
    return None


def bound_socket(name: str) -> socket.socket | None:
    """Binds an abstract socket to a name. Returns None if another process holds the name."""
    bound = socket.socket(socket.AF_UNIX)
    try:
        bound.bind(f"\0{name}")
    except OSError:
        bound.close()
        return None
    _open.add(bound)
    return bound


def connected(name: str) -> socket.socket | None:
    """Connects to the owner of a name. Returns None if there is no owner or it is not ready."""
    end = socket.socket(socket.AF_UNIX)
    try:
        end.connect(f"\0{name}")
    except OSError:
        end.close()
        return None
    if not is_own(end):
        end.close()
        raise PermissionError(f"{_WHERE}: a process of another user holds the name {name}.")
    return end


def is_own(end: socket.socket) -> bool:
    """Returns whether the other end of a connection belongs to the same user."""
    data = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(data)
    return bool(user == os.getuid())


def _close_all() -> None:
    """Closes inherited names in a forked child, so that they become free when the parent ends."""
    for bound in list(_open):
        with contextlib.suppress(OSError):
            bound.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all)
