"""A server of the files of a directory, with a given latency and bandwidth.

`python -m benchmarks.remote.server DIRECTORY LATENCY_S BYTES_A_SECOND` prints its port.
"""

import re
import sys
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

_CHUNK_BYTES = 128 << 10


class Line:
    """The simulated network line, whose bandwidth all connections share."""

    def __init__(self, bytes_a_second: float) -> None:
        self._bytes_a_second = bytes_a_second
        self._lock = threading.Lock()
        self._free_at = 0.0

    def wait_for(self, num_bytes: int) -> None:
        """Waits until so many bytes have gone through."""
        with self._lock:
            now = time.monotonic()
            self._free_at = max(self._free_at, now) + num_bytes / self._bytes_a_second
            gone_at = self._free_at
        time.sleep(max(0.0, gone_at - now))


def handler(files: dict[str, bytes], latency_s: float, line: Line) -> type[BaseHTTPRequestHandler]:
    """Returns a class that answers requests for these files."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

        def do_HEAD(self) -> None:
            self._answer()

        def do_GET(self) -> None:
            data = self._answer()
            for start in range(0, len(data), _CHUNK_BYTES):
                chunk = data[start : start + _CHUNK_BYTES]
                line.wait_for(len(chunk))
                self.wfile.write(chunk)
                self.wfile.flush()

        def _answer(self) -> memoryview:
            time.sleep(latency_s)
            data = memoryview(files[unquote(urlsplit(self.path).path).strip("/")])
            wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            start, end = 0, len(data)
            if wanted:
                start, end = int(wanted[1]), min(len(data), int(wanted[2]) + 1)
            self.send_response(HTTPStatus.PARTIAL_CONTENT if wanted else HTTPStatus.OK)
            self.send_header("Content-Length", str(end - start))
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
            self.send_header("ETag", '"same"')
            self.send_header("Last-Modified", "Sun, 01 Nov 2026 00:00:00 GMT")
            self.end_headers()
            self.wfile.flush()
            return data[start:end]

    return Handler


class Server(ThreadingHTTPServer):
    """Takes as many connections as come."""

    daemon_threads = True
    request_queue_size = 256


def main() -> None:
    directory, latency_s, bytes_a_second = sys.argv[1:]
    files = {f"bucket/{path.name}": path.read_bytes() for path in Path(directory).iterdir()}
    line = Line(float(bytes_a_second))
    server = Server(("127.0.0.1", 0), handler(files, float(latency_s), line))
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
