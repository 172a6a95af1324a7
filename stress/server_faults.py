"""Faults of a file server, determined by a seed."""

import threading
from collections.abc import Callable
from http import HTTPStatus
from random import Random

from tests.io.storage.server import (
    Fault,
    Handler,
    answers,
    cut_short,
    drips,
    reset,
    reset_halfway,
)

__all__ = ["LASTING", "PASSING", "stalls_at"]

_Make = Callable[[Random], Fault]


def breaks_at(share: float, with_reset: bool) -> Fault:
    """The body ends after this share of its length."""

    def fault(handler: Handler, body: bytes) -> None:
        handler.begin()
        handler.wfile.write(body[: int(share * len(body))])
        handler.wfile.flush()
        (reset if with_reset else _leave)(handler, body)

    return fault


def stalls_at(share: float, has_begun: threading.Event, until: threading.Event) -> Fault:
    """The body stalls after this share of its length."""

    def fault(handler: Handler, body: bytes) -> None:
        handler.begin()
        handler.wfile.write(body[: int(share * len(body))])
        handler.wfile.flush()
        has_begun.set()
        until.wait()
        handler.close_connection = True

    return fault


def garbage(handler: Handler, body: bytes) -> None:
    """The response is not HTTP."""
    handler.wfile.write(b"\x00\xff nothing of this kind\r\n\r\n")
    handler.wfile.flush()
    handler.close_connection = True


def _leave(handler: Handler, body: bytes) -> None:
    handler.close_connection = True


def _always(fault: Fault) -> _Make:
    return lambda draws: fault


PASSING: dict[str, _Make] = {
    "reset": _always(reset),
    "reset halfway": _always(reset_halfway),
    "reset somewhere": lambda draws: breaks_at(draws.random(), True),
    "cut short": _always(cut_short),
    "cut somewhere": lambda draws: breaks_at(draws.random(), False),
    "drips": _always(drips),
    **{
        f"{status.value}": _always(answers(status))
        for status in (
            HTTPStatus.INTERNAL_SERVER_ERROR,
            HTTPStatus.BAD_GATEWAY,
            HTTPStatus.SERVICE_UNAVAILABLE,
            HTTPStatus.GATEWAY_TIMEOUT,
            HTTPStatus.TOO_MANY_REQUESTS,
            HTTPStatus.REQUEST_TIMEOUT,
        )
    },
}
LASTING: dict[str, _Make] = {
    **{name: fault for name, fault in PASSING.items() if name not in ("drips",)},
    "no HTTP": _always(garbage),
    "404": _always(answers(HTTPStatus.NOT_FOUND)),
    "403": _always(answers(HTTPStatus.FORBIDDEN)),
    "412": _always(answers(HTTPStatus.PRECONDITION_FAILED)),
}
del LASTING["reset somewhere"], LASTING["cut somewhere"]
