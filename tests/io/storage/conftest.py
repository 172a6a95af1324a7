"""File servers, and the environment variables with their addresses."""

import itertools
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.io.storage.server import AZURE_ACCOUNT, Server

# The public key of Azure's emulator.
_AZURE_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

_S3_AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, "
    "Signature=0"
)

_NUMBERS = itertools.count()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Yields a server that speaks S3, Google Cloud Storage, Azure and HTTP."""
    with Server() as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.address)
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", AZURE_ACCOUNT)
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", _AZURE_KEY)
        monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", f"{server.url}/{AZURE_ACCOUNT}")
        yield server


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Yields a client of moto's S3, which serves `s3://` and `gs://` URLs.

    Google's XML API, which `gs://` uses, is the same as S3's, except for the authorization and the
    header names.
    """
    boto3 = pytest.importorskip("boto3")
    moto_app = pytest.importorskip("moto.moto_server.werkzeug_app")
    serving = pytest.importorskip("werkzeug.serving")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app = moto_app.DomainDispatcherApplication(moto_app.create_backend_app)

    def as_s3(environ: dict[str, Any], start: Any) -> Any:
        if not environ.get("HTTP_AUTHORIZATION", "").startswith("AWS"):
            environ["HTTP_AUTHORIZATION"] = _S3_AUTHORIZATION
        if source := environ.pop("HTTP_X_GOOG_COPY_SOURCE", None):
            environ["HTTP_X_AMZ_COPY_SOURCE"] = source
        return app(environ, start)

    server = serving.make_server("127.0.0.1", 0, as_s3, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    address = f"{server.host}:{server.port}"
    for name, value in [
        ("AWS_ENDPOINT_URL", f"http://{address}"),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
        ("STORAGE_EMULATOR_HOST", address),
    ]:
        monkeypatch.setenv(name, value)
    client = boto3.client("s3", endpoint_url=f"http://{address}")
    yield client
    client.close()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(params=["s3", "gs"])
def bucket(s3: Any, request: pytest.FixtureRequest) -> str:
    """The URL of an empty bucket in moto's S3, as an Amazon URL and as a Google URL."""
    # moto's data lives as long as the process. object_store encodes hyphens in bucket names, but
    # moto does not decode them.
    name = f"bucket{next(_NUMBERS)}"
    s3.create_bucket(Bucket=name)
    return f"{request.param}://{name}"
