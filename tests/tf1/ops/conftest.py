from tests.ops.conftest import hidden, run

__all__ = ["hidden", "run"]
