from tests.testing.conftest import wait_for_dump

__all__ = ["wait_for_dump"]
