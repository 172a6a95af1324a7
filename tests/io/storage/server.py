"""A file server for tests, which can be made to fail.

It supports HTTP, and the parts of S3's, Google's and Azure's protocols for reading and writing
whole files.

Source of the protocols: "Amazon S3 API Reference", "XML API" of Cloud Storage, "Blob service REST
API" of Azure Storage; RFC 9110 for ranges and conditions.
"""

import hashlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

AZURE_ACCOUNT = "devstoreaccount1"
_TIME = "Sun, 01 Nov 2026 00:00:00 GMT"

Fault = Callable[["Handler", bytes], None]
"""Answers a request for these bytes in its own way."""


class Server:
    """The server, on its own port.

    Attributes:
        files: The files by path, without a leading slash.
        faults: The faults for the next requests for data, in order; None for a correct answer.
        requests: Method, path and range of each request so far.
        asked: An event that the first request sets.
        has_ranges: Whether range requests are supported.
        has_tags: Whether files have ETags.
        has_times: Whether it reports modification times.
        has_lengths: Whether it reports lengths; otherwise, files are sent in chunks.
        head_status: The status of answers to HEAD; None for the status of the file.
        redirects: Other URLs for paths.
        redirect_bytes: The length of the body of a redirect.
        passwords: The required header `Authorization` for some paths.
        is_list_endless: Whether listings are endless.
        has_endless_pages: Whether each page of a listing is followed by another one.
        repeats_pages: Whether the token of the next page is always the same.
        num_pages: The number of pages that were requested.
        headers: The headers of each request so far, with its path.
        max_listed: The number of names in a page of S3's protocol.
    """

    def __init__(self, handler: "type[Handler] | None" = None) -> None:
        self.files: dict[str, bytes] = {}
        self.faults: list[Fault | None] = []
        self.requests: list[tuple[str, str, str | None]] = []
        self.has_ranges = True
        self.has_tags = True
        self.has_times = True
        self.has_lengths = True
        self.head_status: HTTPStatus | None = None
        self.redirects: dict[str, str] = {}
        self.redirect_bytes = 0
        self.passwords: dict[str, str] = {}
        self.is_list_endless = False
        self.has_endless_pages = False
        self.repeats_pages = False
        self.num_pages = 0
        self.headers: list[tuple[str, dict[str, str]]] = []
        self.max_listed = 1000
        self.lock = threading.Lock()
        self.asked = threading.Event()
        self._http = _Http(("127.0.0.1", 0), handler or Handler)
        self._http.owner = self
        self.address = f"127.0.0.1:{self._http.server_port}"
        self.url = f"http://{self.address}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    def __enter__(self) -> "Server":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.close_connections()
        self._http.server_close()

    def encrypt(self, context: ssl.SSLContext) -> None:
        """Switches to HTTPS."""
        self._http.socket = context.wrap_socket(self._http.socket, server_side=True)

    def tag_of(self, data: bytes) -> str:
        return f'"{hashlib.md5(data).hexdigest()}"'

    def data_requests(self) -> list[tuple[str, str, str | None]]:
        """Returns the requests for bytes of files."""
        return [
            request for request in self.requests if request[0] == "GET" and "?" not in request[1]
        ]


class _Http(ThreadingHTTPServer):
    owner: Server
    daemon_threads = True
    block_on_close = True
    request_queue_size = 128

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self._connections: set[socket.socket] = set()

    def get_request(self) -> tuple[socket.socket, object]:
        connection, address = super().get_request()
        self._connections.add(connection)
        return connection, address

    def close_connections(self) -> None:
        """Closes connections that are kept open, so that their threads end."""
        for connection in self._connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # It is already closed.

    def handle_error(self, request: object, client_address: object) -> None:
        """Logs nothing, because clients disconnect and faults break connections."""


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    protocol_version = "HTTP/1.1"
    server: _Http
    # Otherwise, the body would wait for an acknowledgement of the header.
    wbufsize = -1

    @property
    def owner(self) -> Server:
        return self.server.owner

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""

    def do_HEAD(self) -> None:
        self._note()
        if self.owner.head_status is not None:
            self.empty(self.owner.head_status)
            return
        self._file(with_body=False)

    def do_GET(self) -> None:
        self._note()
        query = parse_qs(urlsplit(self.path).query)
        if "list-type" in query:
            self._list(query)
        elif query.get("comp") == ["list"]:
            self._list_azure(query)
        else:
            self._file(with_body=True)

    def do_PUT(self) -> None:
        self._note()
        data = self.rfile.read(int(self.headers["Content-Length"] or 0))
        source = self.headers.get("x-amz-copy-source")
        if source is not None:
            data = self.owner.files[unquote(source).lstrip("/")]
        with self.owner.lock:
            self.owner.files[self._name()] = data
        body = b""
        if source is not None:
            tag = self.owner.tag_of(data)
            body = f"<CopyObjectResult><ETag>{tag}</ETag></CopyObjectResult>".encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("ETag", self.owner.tag_of(data))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self) -> None:
        self._note()
        with self.owner.lock:
            self.owner.files.pop(self._name(), None)
        self.empty(HTTPStatus.NO_CONTENT)

    def do_POST(self) -> None:
        """Removes several files, as S3 does."""
        self._note()
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        bucket = self._name()
        for part in text.split("<Key>")[1:]:
            self.owner.files.pop(f"{bucket}/{part.split('</Key>')[0]}", None)
        self._xml("<DeleteResult></DeleteResult>")

    def _note(self) -> None:
        expected = self.headers.get("Range") or self.headers.get("x-ms-range")
        with self.owner.lock:
            self.owner.requests.append((self.command, self.path, expected))
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.owner.headers.append((self.path, headers))
        self.owner.asked.set()

    def _name(self) -> str:
        name = unquote(urlsplit(self.path).path).strip("/")
        return name.removeprefix(f"{AZURE_ACCOUNT}/")

    def _file(self, with_body: bool) -> None:
        if self._is_refused():
            return
        data = self.owner.files.get(self._name())
        if data is None:
            self.empty(HTTPStatus.NOT_FOUND)
            return
        tag = self.owner.tag_of(data)
        if self.owner.has_tags and self.headers.get("If-Match") not in (None, tag):
            self.empty(HTTPStatus.PRECONDITION_FAILED)
            return
        status, start, end = HTTPStatus.OK, 0, len(data)
        expected = self.headers.get("Range") or self.headers.get("x-ms-range")
        if expected is not None and self.owner.has_ranges:
            first, _, last = expected.removeprefix("bytes=").partition("-")
            status, start = HTTPStatus.PARTIAL_CONTENT, int(first)
            end = min(len(data), int(last) + 1) if last else len(data)
            if start >= len(data):
                self.send_response(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
                self.send_header("Content-Range", f"bytes */{len(data)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
        body = data[start:end]
        fault = None
        with self.owner.lock:
            if with_body and self.owner.faults:
                fault = self.owner.faults.pop(0)
        self._answer = (status, len(body), data, start)
        if fault is not None:
            fault(self, body)
            return
        if with_body and not self.owner.has_lengths:
            chunked()(self, body)
            return
        self.begin(has_length=self.owner.has_lengths)
        if with_body:
            self.wfile.write(body)

    def _is_refused(self) -> bool:
        """Answers a request for a file that is on another host, or needs another password."""
        target = self.owner.redirects.get(self._name())
        password = self.owner.passwords.get(self._name())
        if target is not None:
            self._redirect(target)
        elif password not in (None, self.headers.get("Authorization")):
            self.empty(HTTPStatus.UNAUTHORIZED)
        else:
            return False
        return True

    def _redirect(self, target: str) -> None:
        self.send_response(HTTPStatus.FOUND)
        self.send_header("Location", target)
        self.send_header("Content-Length", str(self.owner.redirect_bytes))
        self.end_headers()
        self.flood(self.owner.redirect_bytes)

    def flood(self, num_bytes: int, is_chunked: bool = False, start: bytes = b"") -> None:
        """Sends a body until the other side closes the connection."""
        block = bytes(1 << 20)
        sent = 0
        while sent < num_bytes:
            data = (start + block)[: num_bytes - sent]
            start = b""
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data) if is_chunked else data)
            sent += len(data)
        if is_chunked:
            self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def begin(
        self, extra_bytes: int = 0, is_chunked: bool = False, has_length: bool = True
    ) -> None:
        """Sends the header of the answer to a request for a file.

        Args:
            extra_bytes: The number of bytes in the body beyond the range.
            is_chunked: Whether the body is sent in chunks.
            has_length: Whether the header contains the length of the body, if it is not sent in
                chunks.
        """
        status, length, data, start = self._answer
        self.send_response(status)
        if is_chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif has_length:
            self.send_header("Content-Length", str(length + extra_bytes))
        if self.owner.has_times:
            self.send_header("Last-Modified", _TIME)
        self.send_header("x-ms-blob-type", "BlockBlob")
        if status is HTTPStatus.PARTIAL_CONTENT:
            self.send_header("Content-Range", f"bytes {start}-{start + length - 1}/{len(data)}")
        if self.owner.has_tags:
            self.send_header("ETag", self.owner.tag_of(data))
        self.end_headers()

    def _list(self, query: dict[str, list[str]]) -> None:
        if self.owner.is_list_endless:
            self.send_response(HTTPStatus.OK)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.flood(1 << 36, is_chunked=True, start=b"<ListBucketResult>")
            return
        if self.owner.has_endless_pages:
            self._page_of_many()
            return
        files, directories = self._found(query)
        results = [
            f"<Contents><Key>{escape(key)}</Key><Size>{len(data)}</Size>"
            f"<ETag>{escape(self.owner.tag_of(data))}</ETag>"
            "<LastModified>2026-11-01T00:00:00.000Z</LastModified></Contents>"
            for key, data in files
        ]
        shared = [
            f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
            for name in directories
        ]
        start = int(query.get("continuation-token", ["0"])[0])
        end = start + self.owner.max_listed
        page = "".join((results + shared)[start:end])
        if end < len(results) + len(shared):
            page += "<IsTruncated>true</IsTruncated>"
            page += f"<NextContinuationToken>{end}</NextContinuationToken>"
        self._xml(f"<ListBucketResult>{page}</ListBucketResult>")

    def _page_of_many(self) -> None:
        self.owner.num_pages += 1
        number = min(self.owner.num_pages, 5) if self.owner.repeats_pages else self.owner.num_pages
        self._xml(
            f"<ListBucketResult><Contents><Key>{number}</Key><Size>1</Size>"
            "<LastModified>2026-11-01T00:00:00.000Z</LastModified></Contents>"
            "<IsTruncated>true</IsTruncated>"
            f"<NextContinuationToken>{number}</NextContinuationToken></ListBucketResult>"
        )

    def _list_azure(self, query: dict[str, list[str]]) -> None:
        files, directories = self._found(query)
        results = [
            f"<Blob><Name>{escape(key)}</Name><Properties>"
            f"<Content-Length>{len(data)}</Content-Length><Last-Modified>{_TIME}</Last-Modified>"
            f"<Etag>{escape(self.owner.tag_of(data))}</Etag><Content-Type>x/y</Content-Type>"
            "<BlobType>BlockBlob</BlobType></Properties></Blob>"
            for key, data in files
        ]
        shared = [f"<BlobPrefix><Name>{escape(name)}</Name></BlobPrefix>" for name in directories]
        blobs = f"<Blobs>{''.join(results + shared)}</Blobs>"
        self._xml(f"<EnumerationResults>{blobs}<NextMarker/></EnumerationResults>")

    def _found(self, query: dict[str, list[str]]) -> tuple[list[tuple[str, bytes]], list[str]]:
        bucket, prefix = self._name(), query.get("prefix", [""])[0]
        files, directories = [], set()
        for name, data in sorted(self.owner.files.items()):
            key = name.removeprefix(f"{bucket}/")
            if key == name or not key.startswith(prefix):
                continue
            rest = key[len(prefix) :]
            if "delimiter" in query and "/" in rest:
                directories.add(f"{prefix}{rest.split('/')[0]}/")
            else:
                files.append((key, data))
        return files, sorted(directories)

    def _xml(self, text: str) -> None:
        body = text.encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def empty(self, status: HTTPStatus) -> None:
        """Answers without a body."""
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


def answers(status: HTTPStatus) -> Fault:
    """Answers with an error."""

    def fault(handler: Handler, body: bytes) -> None:
        handler.empty(status)

    return fault


def floods(
    status: HTTPStatus, num_bytes: int, is_chunked: bool = False, start: bytes = b""
) -> Fault:
    """Answers with an error and a long body."""

    def fault(handler: Handler, body: bytes) -> None:
        handler.send_response(status)
        if is_chunked:
            handler.send_header("Transfer-Encoding", "chunked")
        else:
            handler.send_header("Content-Length", str(num_bytes))
        handler.end_headers()
        handler.flood(num_bytes, is_chunked, start)

    return fault


def longer(extra_bytes: int, is_chunked: bool = False) -> Fault:
    """Sends more bytes than were requested."""

    def fault(handler: Handler, body: bytes) -> None:
        handler.begin(extra_bytes, is_chunked)
        handler.flood(len(body) + extra_bytes, is_chunked, start=body)

    return fault


def chunked(broken_at: int | None = None) -> Fault:
    """Sends the body in chunks, up to a byte at which the connection breaks."""

    def fault(handler: Handler, body: bytes) -> None:
        handler.begin(is_chunked=True)
        handler.flood(len(body), is_chunked=True, start=body)

    def broken(handler: Handler, body: bytes) -> None:
        handler.begin(is_chunked=True)
        assert broken_at is not None
        handler.wfile.write(b"%x\r\n%b" % (len(body), body[:broken_at]))
        handler.wfile.flush()
        handler.close_connection = True

    return fault if broken_at is None else broken


def until_closed(handler: Handler, body: bytes) -> None:
    """Ends the body by closing the connection."""
    handler.begin(has_length=False)
    handler.wfile.write(body)
    handler.wfile.flush()
    handler.close_connection = True


def reset(handler: Handler, body: bytes) -> None:
    """Resets the connection before sending anything."""
    _reset(handler)


def reset_halfway(handler: Handler, body: bytes) -> None:
    """Resets the connection in the middle of the body."""
    handler.begin()
    handler.wfile.write(body[: len(body) // 2])
    handler.wfile.flush()
    _reset(handler)


def cut_short(handler: Handler, body: bytes) -> None:
    """Closes the connection in the middle of the body, as if it were complete."""
    handler.begin()
    handler.wfile.write(body[: len(body) // 2])
    handler.wfile.flush()
    handler.close_connection = True


def _reset(handler: Handler) -> None:
    linger = struct.pack("ii", 1, 0)
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    handler.close_connection = True
    handler.connection.close()


def stalls(until: threading.Event) -> Fault:
    """Sends half of the body, and the rest once the test allows it."""

    def fault(handler: Handler, body: bytes) -> None:
        handler.begin()
        handler.wfile.write(body[: len(body) // 2])
        handler.wfile.flush()
        until.wait()
        handler.wfile.write(body[len(body) // 2 :])

    return fault


def drips(handler: Handler, body: bytes) -> None:
    """Sends the body in many small pieces."""
    handler.begin()
    for start in range(0, len(body), 1000):
        handler.wfile.write(body[start : start + 1000])
        handler.wfile.flush()


def changes(name: str, data: bytes) -> Fault:
    """Changes the file after this answer."""

    def fault(handler: Handler, body: bytes) -> None:
        handler.begin()
        # The file must change before the client receives the answer and requests more.
        handler.owner.files[name] = data
        handler.wfile.write(body)
        handler.wfile.flush()

    return fault
