from tests.tf1.session.conftest import in_thread, queue, session

__all__ = ["in_thread", "queue", "session"]
