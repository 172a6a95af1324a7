from tests.testing.conftest import said

__all__ = ["said"]
