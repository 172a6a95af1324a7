"""Determines this process's rank, and the number of processes that train together."""

import os
import sys
from typing import Any, Final, NamedTuple

__all__ = ["ProcessRank", "process_rank"]

_VARIABLES: Final = ("RANK", "WORLD_SIZE")


class ProcessRank(NamedTuple):
    """This process's rank and the number of processes.

    Attributes:
        rank: From 0 to `world_size - 1`.
        world_size: The number of processes.
        source: The library or the variables that provided these numbers.
    """

    rank: int
    world_size: int
    source: str


def process_rank(where: str) -> ProcessRank:
    """Returns the rank from `torch.distributed`, JAX, or the variables RANK and WORLD_SIZE.

    The sources are tried in this order, and the first one that is initialised is used. Neither
    library is imported, because a library that the program has not imported cannot be initialised.
    For JAX, this uses `jax.distributed.is_initialized`.

    Args:
        where: The name of the caller, for messages.

    Raises:
        RuntimeError: If none of them are initialised, or PyTorch and JAX report different ranks.
        ValueError: If only one of the two variables is set, or the two are not a valid rank and
            number of processes.
    """
    answers = [answer for answer in (_of_torch(), _of_jax()) if answer is not None]
    if len({answer[:2] for answer in answers}) > 1:
        told = " and ".join(f"{a.source} reports rank {a.rank} of {a.world_size}" for a in answers)
        raise RuntimeError(
            f"{where}: {told}, but they must agree. Pass the right numbers: {where}(rank, "
            "world_size)."
        )
    if answers:
        return answers[0]
    of_variables = _of_variables(where)
    if of_variables is not None:
        return of_variables
    raise RuntimeError(
        f"{where}: the rank is unknown: neither torch.distributed nor JAX is initialised, and "
        "RANK and WORLD_SIZE are not set. Initialise one of the two first, start the program "
        f"with torchrun, or call {where}(rank, world_size). If there is only one process, "
        f"call {where}(0, 1)."
    )


def _of_torch() -> ProcessRank | None:
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    rank, world_size = distributed.get_rank(), distributed.get_world_size()
    return ProcessRank(rank, world_size, "torch.distributed")


def _of_jax() -> ProcessRank | None:
    jax: Any = sys.modules.get("jax")
    is_initialized = getattr(getattr(jax, "distributed", None), "is_initialized", None)
    if is_initialized is None or not is_initialized():
        return None
    return ProcessRank(jax.process_index(), jax.process_count(), "JAX")


def _of_variables(where: str) -> ProcessRank | None:
    texts = [os.environ.get(name) for name in _VARIABLES]
    if texts == [None, None]:
        return None
    listing = ", ".join(f"{name}={text!r}" for name, text in zip(_VARIABLES, texts, strict=True))
    try:
        rank, world_size = (int(text or "") for text in texts)
    except ValueError:
        rank, world_size = -1, 0
    if not 0 <= rank < world_size:
        raise ValueError(
            f"{where}: the environment has {listing}, but RANK must be at least 0 and less "
            f"than WORLD_SIZE. Set both, or call {where}(rank, world_size)."
        )
    return ProcessRank(rank, world_size, "RANK and WORLD_SIZE")
