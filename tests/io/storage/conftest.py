"""Servers of files, and the environment variables with their addresses."""

import itertools
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from tests.io.storage.server import AZURE_ACCOUNT, Server

# The public key of Azure's emulator.
_AZURE_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
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
    """Yields a client of moto's S3, which serves `s3://` URLs."""
    boto3 = pytest.importorskip("boto3")
    moto_server = pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    for name, value in [
        ("AWS_ENDPOINT_URL", url),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
    ]:
        monkeypatch.setenv(name, value)
    client = boto3.client("s3", endpoint_url=url)
    yield client
    client.close()
    server.stop()


@pytest.fixture
def bucket(s3: Any) -> str:
    """The URL of an empty bucket of moto's S3."""
    # The data of moto live as long as the process.
    name = f"bucket-{next(_NUMBERS)}"
    s3.create_bucket(Bucket=name)
    return f"s3://{name}"
