from tests.io.storage.conftest import bucket, s3, server

__all__ = ["bucket", "s3", "server"]
