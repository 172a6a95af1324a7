"""Hashes. `hashlib` is imported on first use, because it loads OpenSSL."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash
    from hashlib import blake2b as _Blake2

__all__ = ["blake2b", "sha256"]


def sha256(data: bytes = b"") -> "_Hash":
    """Returns the SHA-256 hash object of some bytes. More bytes can be added to it."""
    import hashlib  # noqa: PLC0415

    return hashlib.sha256(data)


def blake2b(data: bytes, digest_size: int) -> "_Blake2":
    """Returns the BLAKE2b hash of some bytes.

    Args:
        data: The bytes.
        digest_size: The size of the digest in bytes.
    """
    import hashlib  # noqa: PLC0415

    return hashlib.blake2b(data, digest_size=digest_size)
