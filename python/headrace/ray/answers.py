"""Waits for answers from the head, and raises an error if the head is gone."""

from typing import Any

import ray

from headrace.core.errors import UnavailableError

__all__ = ["answer_of"]


def answer_of(where: str, asked: Any) -> Any:
    """Returns the result of a method of the head, or raises its error.

    Waits until the method has finished, or until Ray detects that the head is gone: immediately
    after its process has ended, or about twenty seconds after its node was lost.

    Args:
        where: The caller's name, for the error message.
        asked: The reference to the call.

    Raises:
        UnavailableError: If the head is gone.
    """
    try:
        return ray.get(asked)
    except ray.exceptions.RayTaskError as error:
        raise (error.cause or error) from None
    except ray.exceptions.RayActorError as error:
        raise UnavailableError(
            None,
            None,
            f"{where}: the process that manages the readers has ended, and all readers with it. "
            "They run until the feed is closed, the process that called serve ends, or its node "
            "is lost. Call serve again, and continue from the last state.",
        ) from error
