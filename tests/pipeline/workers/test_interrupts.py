"""Ctrl-C while the program and its worker processes exchange messages."""

import signal
import socket

import pytest
from tests.pipeline.workers import picklable
from tests.pipeline.workers.test_processes import TIMEOUT, rows, taken

import headrace as hr
from headrace.pipeline.workers.fork_server import ForkServer
from headrace.pipeline.workers.messages import Channel, channels

pytestmark = pytest.mark.timeout(TIMEOUT)


class InterruptedSocket:
    """A socket with a method that raises Ctrl-C before or after it transfers bytes."""

    def __init__(self, inner, method, is_after):
        self.inner, self.method, self.is_after = inner, method, is_after

    def __getattr__(self, name):
        method = getattr(self.inner, name)
        if name != self.method:
            return method

        def interrupted(*arguments):
            self.method = None
            if self.is_after:
                method(*arguments)
            signal.raise_signal(signal.SIGINT)

        return interrupted


def interrupted(channel, method, is_after):
    channel._socket = InterruptedSocket(channel._socket, method, is_after)


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize("method", ["recvmsg", "recv_into"])
def test_interrupted_receiver_is_closed(method, is_after):
    mine, other = channels()
    other = Channel(other)
    other.send("first")
    other.send("second")
    interrupted(mine, method, is_after)
    with pytest.raises(KeyboardInterrupt):
        mine.receive()
    with pytest.raises(OSError, match="Bad file descriptor"):
        mine.receive()
    with pytest.raises((EOFError, ConnectionError)):
        other.receive()
    other.close()


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize(("method", "descriptors"), [("sendall", ()), ("sendmsg", (0,))])
def test_interrupted_sender_is_closed(method, descriptors, is_after):
    mine, other = channels()
    other = Channel(other)
    interrupted(mine, method, is_after)
    with pytest.raises(KeyboardInterrupt):
        mine.send("first", descriptors)
    with pytest.raises(OSError, match="Bad file descriptor"):
        mine.send("second")
    other.close()


def test_timeout_between_messages_keeps_the_channel_open():
    mine, other = channels()
    other = Channel(other)
    with pytest.raises(TimeoutError):
        mine.receive(0.001)
    other.send("first")
    assert mine.receive(TIMEOUT) == ("first", [])
    assert mine._socket.gettimeout() is None
    mine.close()
    other.close()


@pytest.mark.parametrize("method", ["recvmsg", "recv_into", "sendall"])
@pytest.mark.parametrize("number", [0, 3])
def test_pipeline_works_again_after_an_interrupt(monkeypatch, number, method):
    """The first calls in this thread start workers and learn components."""
    seen = iter(range(number + 1))
    original = {"recvmsg": "receive", "recv_into": "receive", "sendall": "send"}[method]
    plain = getattr(Channel, original)

    def interrupting(channel, *arguments):
        if next(seen, None) == number:
            interrupted(channel, method, is_after=True)
        return plain(channel, *arguments)

    source = hr.iterable(picklable.part, num_processes=2)
    before = taken(source.epoch(0))
    another = hr.iterable(picklable.part, num_processes=2)
    with monkeypatch.context() as patch:
        patch.setattr(Channel, original, interrupting)
        with pytest.raises(KeyboardInterrupt):
            another.spec  # noqa: B018 (learns the components in this thread)
    assert taken(another.epoch(0)) == before
    assert taken(source.epoch(0)) == before
    assert len(taken(rows(10).map(picklable.plus_one, num_processes=2))) == 10


def test_replies_to_an_interrupted_start_are_not_mistaken_for_later_ones(monkeypatch):
    server = ForkServer()
    plain, begun = ForkServer._begun, []

    def interrupting(server, channel, request):
        if not begun:
            begun.append(request)
            raise KeyboardInterrupt
        return plain(server, channel, request)

    def start(count):
        pairs = [socket.socketpair() for _ in range(count)]
        null = open("/dev/null", "rb")  # noqa: SIM115 (closed below)
        ends = [[pair[1].fileno(), *[null.fileno()] * 3] for pair in pairs]
        try:
            return server.start_workers(ends)
        finally:
            null.close()
            for pair in pairs:
                pair[1].close()
                pair[0].close()

    monkeypatch.setattr(ForkServer, "_begun", interrupting)
    try:
        with pytest.raises(KeyboardInterrupt):
            start(2)
        first, second = start(2)
        assert first != second
        assert server.exit_code(second, TIMEOUT) is not None
        assert server.exit_code(first, TIMEOUT) is not None
    finally:
        server.close()
