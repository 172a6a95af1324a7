from tests.pipeline.conftest import tables

__all__ = ["tables"]
