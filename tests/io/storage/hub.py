"""A small hub for tests: data sets with revisions, buckets, and another host for their data.

Source of the protocol: the Hub API, and the requests of the library `huggingface_hub`.
"""

import hashlib
import json
from http import HTTPStatus
from types import TracebackType
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tests.io.storage.server import Handler, Server

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NEWER = "fedcba9876543210fedcba9876543210fedcba98"


class Hub:
    """The hub, and the host of its large files.

    Attributes:
        trees: The files of each repository, by `datasets/owner/name@COMMIT` or
            `buckets/owner/name`.
        branches: The commit of each revision, by `datasets/owner/name@revision`.
        token: The token that requests must contain; None for a public hub.
        large: The paths of the files on the other host.
        num_busy: How many of the next requests are answered with 429.
        page: The number of entries in a page of a tree.
        requests: Path and headers of each request to the hub.
        data: The host with the data.
    """

    def __init__(self) -> None:
        self.trees: dict[str, dict[str, bytes]] = {}
        self.branches: dict[str, str] = {}
        self.token: str | None = None
        self.large: set[str] = set()
        self.num_busy = 0
        self.page = 1000
        self.data = Server()
        self.data.has_times = False
        self._server = Server(_HubHandler)
        self._server.hub = self
        self.requests = self._server.headers
        self.url = self._server.url

    def add(self, repository: str, files: dict[str, bytes], is_large: bool = True) -> None:
        """Adds files."""
        self.trees.setdefault(repository, {}).update(files)
        if is_large:
            self.large.update(files)

    def __enter__(self) -> "Hub":
        self.data.__enter__()
        self._server.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.__exit__(kind, error, trace)
        self.data.__exit__(kind, error, trace)


class _HubHandler(Handler):
    """Answers requests to the hub."""

    def do_HEAD(self) -> None:
        self._note()
        self._answered(with_body=False)

    def do_GET(self) -> None:
        self._note()
        self._answered(with_body=True)

    @property
    def hub(self) -> Hub:
        return self.owner.hub

    def _answered(self, with_body: bool) -> None:
        with self.owner.lock:
            is_busy = self.hub.num_busy > 0
            self.hub.num_busy -= int(is_busy)
        if is_busy:
            self._empty_with(HTTPStatus.TOO_MANY_REQUESTS, {"Retry-After": "0"})
            return
        value = self.headers.get("Authorization")
        if self.hub.token is not None and value != f"Bearer {self.hub.token}":
            words = {"X-Error-Message": f"Invalid credentials: {value}"}
            self._empty_with(HTTPStatus.UNAUTHORIZED, words)
            return
        parts = [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]
        is_api = parts[0] == "api"
        kind, owner, name, verb, *rest = parts[1:] if is_api else parts
        repository = f"{kind}/{owner}/{name}"
        if kind == "datasets":
            revision, *rest = rest
            commit = self.hub.branches.get(f"{repository}@{revision}", revision)
            repository = f"{repository}@{commit}"
        tree = self.hub.trees.get(repository)
        if tree is None:
            self._empty_with(HTTPStatus.NOT_FOUND, {"X-Error-Code": "RevisionNotFound"})
        elif verb == "revision":
            self._json({"sha": commit})
        elif verb == "tree":
            self._tree(tree, "/".join(rest))
        else:
            self._resolved(tree, "/".join(rest), with_body)

    def _tree(self, tree: dict[str, bytes], directory: str) -> None:
        query = parse_qs(urlsplit(self.path).query)
        start = f"{directory}/" if directory else ""
        inside = {path: data for path, data in tree.items() if path.startswith(start)}
        if not inside:
            self._empty_with(HTTPStatus.NOT_FOUND, {"X-Error-Code": "EntryNotFound"})
            return
        entries: dict[str, dict[str, object]] = {}
        for path, data in sorted(inside.items()):
            first, *behind = path[len(start) :].split("/")
            if behind:
                entries[start + first] = {"type": "directory", "path": start + first, "size": 0}
            if not behind or "recursive" in query:
                entries[path] = {"type": "file", "path": path, "size": len(data)}
        begin = int(query.get("cursor", ["0"])[0])
        end = begin + self.hub.page
        more = "&recursive=true" if "recursive" in query else ""
        route = urlsplit(self.path).path
        link = {"Link": f'<{self.owner.url}{route}?cursor={end}{more}>; rel="next"'}
        self._json(list(entries.values())[begin:end], link if end < len(entries) else {})

    def _resolved(self, tree: dict[str, bytes], path: str, with_body: bool) -> None:
        data = tree.get(path)
        if data is None:
            self._empty_with(HTTPStatus.NOT_FOUND, {"X-Error-Code": "EntryNotFound"})
        elif path in self.hub.large:
            digest = hashlib.sha256(data).hexdigest()
            self.hub.data.files[digest] = data
            headers = {
                "Location": f"{self.hub.data.url}/{digest}?name={quote(path)}&signature=secret",
                "X-Linked-Size": str(len(data)),
                "X-Linked-Etag": f'"{digest}"',
            }
            self._empty_with(HTTPStatus.FOUND, headers)
        else:
            with self.owner.lock:
                self.owner.files[self._name()] = data
            self._file(with_body)

    def _json(self, content: object, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(content).encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _empty_with(self, status: HTTPStatus, headers: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
