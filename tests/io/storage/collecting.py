"""A thread that takes a batch from an iteration while another thread closes it."""

import threading
from contextlib import suppress

import headrace as hr
from headrace.core import errors


def start_collecting(batches: hr.Batches) -> threading.Thread:
    """Starts a thread that takes the first batch."""

    def take() -> None:
        with suppress(errors.FailedPreconditionError):
            next(batches)

    thread = threading.Thread(target=take)
    thread.start()
    return thread
