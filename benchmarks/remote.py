"""Reads W1 from a simulated remote server: `python -m benchmarks.remote`.

Prints the used share of the bandwidth, by the number of parts in flight.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click

from benchmarks import dataset
from benchmarks.workloads import digits

NUM_PARTS = (1, 2, 4, 8, 16, 32)
NUM_TIMES = 10
"""How often one pass reads the files, to simulate a larger data set."""
CHUNK_BYTES = 128 << 10


class Line:
    """The simulated network line. All connections share its bandwidth."""

    def __init__(self, bytes_a_second: float) -> None:
        self._bytes_a_second = bytes_a_second
        self._lock = threading.Lock()
        self._free_at = 0.0

    def wait_for(self, num_bytes: int) -> None:
        """Waits until this many bytes have been transferred."""
        with self._lock:
            now = time.monotonic()
            self._free_at = max(self._free_at, now) + num_bytes / self._bytes_a_second
            gone_at = self._free_at
        time.sleep(max(0.0, gone_at - now))


def handler(files: dict[str, bytes], latency_s: float, line: Line) -> type[BaseHTTPRequestHandler]:
    """Returns a class that handles requests for these files."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def log_message(self, format: str, *args: object) -> None:
            """Logs nothing."""

        def do_HEAD(self) -> None:
            self._answer()

        def do_GET(self) -> None:
            data = self._answer()
            for start in range(0, len(data), CHUNK_BYTES):
                chunk = data[start : start + CHUNK_BYTES]
                line.wait_for(len(chunk))
                self.wfile.write(chunk)
                self.wfile.flush()

        def _answer(self) -> memoryview:
            time.sleep(latency_s)
            data = memoryview(files[unquote(urlsplit(self.path).path).strip("/")])
            asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            start, end = 0, len(data)
            if asked:
                start, end = int(asked[1]), min(len(data), int(asked[2]) + 1)
            self.send_response(HTTPStatus.PARTIAL_CONTENT if asked else HTTPStatus.OK)
            self.send_header("Content-Length", str(end - start))
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
            self.send_header("ETag", '"same"')
            self.send_header("Last-Modified", "Sun, 01 Nov 2026 00:00:00 GMT")
            self.end_headers()
            self.wfile.flush()
            return data[start:end]

    return Handler


class Server(ThreadingHTTPServer):
    """Accepts any number of connections."""

    daemon_threads = True
    request_queue_size = 256


@contextmanager
def serving(latency_s: float, bytes_a_second: float, directory: Path) -> Iterator[str]:
    """Serves a directory's files from a separate process, and yields the server's URL."""
    command = [sys.executable, "-m", "benchmarks.remote", "serve", str(directory)]
    command += [str(latency_s), str(bytes_a_second)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        finally:
            server.terminate()


def variables_of(url: str) -> dict[str, str]:
    """Returns the environment for a program that reads from a server."""
    keys = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench"}
    return {**os.environ, **keys, "AWS_ENDPOINT_URL": url}


def rate(url: str, num_parts: int, home: Path) -> float:
    """Reads W1's data in a separate process. Returns the bytes per second."""
    environment = variables_of(url) | {"HEADRACE_STORAGE_PARTS": str(num_parts)}
    command = [sys.executable, "-m", "benchmarks.remote", "read", str(home)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    figures = json.loads(done.stdout)
    expected = digits.W1.count * NUM_TIMES
    assert figures["count"] == expected, f"{figures['count']} examples came, expected {expected}"
    return float(figures["num_bytes"] / figures["seconds"])


@click.group(invoke_without_command=True)
@click.option("--latency", default=0.05, show_default=True, help="Seconds until an answer begins.")
@click.option("--bandwidth", default=125e6, show_default=True, help="Bytes a second of the line.")
@click.option("--rounds", default=3, show_default=True, help="How often each is measured.")
@click.pass_context
def main(context: click.Context, latency: float, bandwidth: float, rounds: int) -> None:
    """Prints W1's share of the bandwidth for each number of parts in flight per file.

    The server limits the total bandwidth of all connections. Time is measured from the first
    request.
    """
    if context.invoked_subcommand:
        return
    home, _ = dataset.ensure(digits.W1)
    with serving(latency, bandwidth, home) as url:
        rates = {n: [rate(url, n, home) for _ in range(rounds)] for n in NUM_PARTS}
    for num_parts, figures in rates.items():
        shares = sorted(one / bandwidth for one in figures)
        spread = f"{shares[0]:.0%} to {shares[-1]:.0%}"
        click.echo(f"{num_parts} parts: {statistics.median(shares):.0%} ({spread})")


@main.command()
@click.argument("directory", type=Path)
@click.argument("latency_s", type=float)
@click.argument("bytes_a_second", type=float)
def serve(directory: Path, latency_s: float, bytes_a_second: float) -> None:
    """Serves a directory's files with a latency and a bandwidth, and prints the port."""
    files = {f"bucket/{path.name}": path.read_bytes() for path in directory.iterdir()}
    server = Server(("127.0.0.1", 0), handler(files, latency_s, Line(bytes_a_second)))
    print(server.server_port, flush=True)
    server.serve_forever()


@main.command()
@click.argument("home", type=Path)
def read(home: Path) -> None:
    """Reads a directory's files from S3, and prints the bytes and the time as JSON."""
    paths = sorted(home.glob("*.tfrecord"))
    urls = [f"s3://bucket/{path.name}" for path in paths]
    begin = time.monotonic()
    count = sum(len(batch["label"]) for batch in digits.pipeline(urls * NUM_TIMES, 1))
    seconds = time.monotonic() - begin
    num_bytes = NUM_TIMES * sum(path.stat().st_size for path in paths)
    print(json.dumps({"count": count, "num_bytes": num_bytes, "seconds": seconds}))


if __name__ == "__main__":
    main()
