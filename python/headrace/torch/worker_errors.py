"""Errors for worker processes that ended or took too long."""

import signal
from typing import Any, Final

from headrace.pipeline.workers.remote import WorkerEnded
from headrace.torch.failing_samples import of_item, of_sample, of_samples

__all__ = ["ended_error", "samples_of", "timed_out_error"]

_GO_ON: Final = "You can resume from the loader's state_dict() after the last batch."


def samples_of(index: Any, auto_collation: bool, is_iterable: bool, place: int | None) -> str:
    """Returns a phrase that names the sample that a worker is processing.

    Args:
        index: The indices of the worker's batch.
        auto_collation: Whether the batch has several samples.
        is_iterable: Whether the dataset is iterable-style.
        place: The position of the sample in the batch, or its number in the iterator. None if the
            worker is between two samples.
    """
    if is_iterable:
        return "a batch" if place is None else of_item(place)
    if not auto_collation:
        return of_sample(index, None)
    try:
        return of_samples(index) if place is None else of_sample(list(index)[place], None)
    except Exception:  # The dataset does not accept a list of indices.
        return of_samples(index)


def ended_error(end: WorkerEnded, worker: int, samples: str) -> RuntimeError:
    """Returns the error for a worker that has ended. The message includes PyTorch's text."""
    cause = RuntimeError(_cause(end))
    error = RuntimeError(
        f"DataLoader worker (pid(s) {end.worker}) exited unexpectedly at {samples}: worker "
        f"{worker} {end.how}. {_remedy(end.code)} {_GO_ON} {cause}"
    )
    error.__cause__ = cause
    return error


def timed_out_error(timeout: float, worker: int, process: int, samples: str) -> RuntimeError:
    """Returns the error for a worker that takes too long."""
    return RuntimeError(
        f"DataLoader timed out after {timeout} seconds: worker {worker} (pid {process}) is at "
        f"{samples}. Raise timeout if the sample may take so long."
    )


def _cause(end: WorkerEnded) -> str:
    if end.code is not None and end.code < 0:
        name = signal.strsignal(-end.code) or f"signal {-end.code}"
        return f"DataLoader worker (pid {end.worker}) is killed by signal: {name}. "
    return (
        f"DataLoader worker (pid {end.worker}) exited unexpectedly with exit code {end.code}. "
        "Details are lost due to multiprocessing. Rerunning with num_workers=0 may give better "
        "error trace."
    )


def _remedy(code: int | None) -> str:
    if code is None:
        return "Its standard error may say why."
    if code >= 0:
        return "The dataset has called sys.exit or os._exit, or a library did."
    if code == -signal.SIGKILL:
        return (
            "The system kills processes when memory runs out: look for 'Out of memory' in the "
            "system log, and use fewer workers or a smaller prefetch_factor."
        )
    return "A native library of the dataset has crashed: look at the standard error for where."
