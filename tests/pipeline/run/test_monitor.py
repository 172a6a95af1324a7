"""The local socket of `headrace top`."""

import os
import socket
import sys

import pytest

import headrace as hr
from headrace.pipeline.run import monitor

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="uses Linux's abstract sockets")


@pytest.fixture
def watched(monkeypatch):
    monkeypatch.setenv("HEADRACE_TOP", "1")
    yield
    monitor.stop_watching()


def test_process_reports_its_iterations(watched):
    with iter(hr.arrays({"x": list(range(100))}).batch(10)) as batches:
        next(batches)
        assert os.getpid() in monitor.watched_processes()
        report = monitor.process_report(os.getpid())
    assert report["process"] == os.getpid()
    (iteration,) = [one for one in report["iterations"] if one["name"] == "arrays > batch"]
    assert iteration["count"] == 1


def test_iterations_that_have_ended_are_not_reported(watched):
    list(hr.arrays({"x": [1]}).batch(1))
    assert monitor.process_report(os.getpid())["iterations"] == []


def test_process_reports_only_on_request(monkeypatch):
    monkeypatch.delenv("HEADRACE_TOP", raising=False)
    with iter(hr.arrays({"x": [1, 2]})) as batches:
        next(batches)
        assert os.getpid() not in monitor.watched_processes()
    with pytest.raises(ConnectionRefusedError):
        monitor.process_report(os.getpid())


def test_other_users_get_no_report(watched, monkeypatch):
    with iter(hr.arrays({"x": [1, 2]})) as batches:
        next(batches)
        monkeypatch.setattr(monitor, "_is_trusted", lambda user: False)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(20)
            connection.connect(monitor._address(os.getpid()))
            assert connection.recv(10) == b""


def test_reports_of_other_users_are_rejected(watched, monkeypatch):
    with iter(hr.arrays({"x": [1, 2]})) as batches:
        next(batches)
        monkeypatch.setattr(monitor, "_is_trusted", lambda user: False)
        with pytest.raises(ConnectionRefusedError, match="another user"):
            monitor.process_report(os.getpid())


@pytest.mark.parametrize(("user", "is_trusted"), [(0, True), (os.geteuid(), True), (54321, False)])
def test_only_the_same_user_and_root_are_trusted(user, is_trusted):
    assert monitor._is_trusted(user) == is_trusted


def test_second_monitor_of_a_process_is_an_error(watched):
    with iter(hr.arrays({"x": [1, 2]})) as batches:
        next(batches)
        with pytest.raises(OSError, match="in use"):
            monitor.Monitor(dict)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forked_child_reports_for_itself(watched):
    with iter(hr.arrays({"x": [1, 2]})) as batches:
        next(batches)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                with iter(hr.arrays({"y": [1, 2]})) as own:
                    next(own)
                    report = monitor.process_report(os.getpid())
                    os.write(writer, f"{report['process'] == os.getpid()}".encode())
            finally:
                os._exit(0)
        os.close(writer)
        with open(reader) as file:
            assert file.read() == "True"
        os.waitpid(child, 0)
        assert monitor.process_report(os.getpid())["process"] == os.getpid()
