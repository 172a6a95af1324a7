"""Files at URLs are inspected, verified and converted like local ones."""

import functools
import http.server
import json
import threading
from pathlib import Path

import pytest
from tests.cli.files import call, damage, numbers_of, write_numbers


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of complete files, without log messages."""

    def log_message(self, *arguments):
        pass


@pytest.fixture
def address(tmp_path, monkeypatch):
    """The URL of a directory."""
    monkeypatch.chdir(tmp_path)
    Path("served").mkdir()
    handler = functools.partial(Quiet, directory="served")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_file_behind_a_url_is_read(address):
    write_numbers("served/a", 20)
    [report] = json.loads(call("inspect", "--json", f"{address}/a").stdout)["files"]
    assert (report["kind"], report["count"]) == ("tfrecord", 20)
    assert call("verify", f"{address}/a").exit_code == 0
    damage(Path("served/a"), 13)
    assert call("verify", f"{address}/a").exit_code == 1


def test_url_is_converted_to_local_files(address):
    write_numbers("served/a", 20)
    assert call("convert", f"{address}/a", "b.tfrecord", "--shards", 2).exit_code == 0
    assert numbers_of(*sorted(Path().glob("b-*"))) == list(range(20))
    assert call("index", "--dali", f"{address}/a", "--output", "out").exit_code == 0
    assert Path("out/a.idx").read_text().count("\n") == 20


def test_error_names_a_url_without_a_file(address):
    done = call("inspect", f"{address}/nothing")
    assert done.exit_code == 1
    assert f"{address}/nothing; No such file or directory" in done.stderr
