"""Servers of files, and the environment variables with their addresses."""

from collections.abc import Iterator

import pytest
from tests.io.storage.server import AZURE_ACCOUNT, Server

# The public key of Azure's emulator.
_AZURE_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)


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
