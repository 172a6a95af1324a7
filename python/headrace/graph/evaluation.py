"""Finds the session that `tensor.eval()` and `operation.run()` use.

Source: `tf.Tensor.eval` and `tf.Operation.run` in TensorFlow 1.15.
"""

from headrace.graph.stacks import SessionLike, get_default_session

__all__ = ["session_for_operation", "session_for_tensor"]


def session_for_tensor(graph: object, session: SessionLike | None) -> SessionLike:
    """Returns the session that computes a graph's tensors.

    Args:
        graph: The graph of the tensors.
        session: The session that the caller passed, or None for the default session.

    Raises:
        ValueError: If there is no session, or the session has another graph.
    """
    if session is not None:
        if session.graph is not graph:
            raise ValueError(
                "Cannot use the given session to evaluate tensor: the tensor's graph is different "
                "from the session's graph."
            )
        return session
    session = get_default_session()
    if session is None:
        raise ValueError(
            "Cannot evaluate tensor using `eval()`: No default session is registered. Use `with "
            "sess.as_default()` or pass an explicit session to `eval(session=sess)`"
        )
    if session.graph is not graph:
        raise ValueError(
            "Cannot use the default session to evaluate tensor: the tensor's graph is different "
            "from the session's graph. Pass an explicit session to `eval(session=sess)`."
        )
    return session


def session_for_operation(graph: object, session: SessionLike | None) -> SessionLike:
    """Returns the session that runs a graph's operations.

    Args:
        graph: The graph of the operations.
        session: The session that the caller passed, or None for the default session.

    Raises:
        ValueError: If there is no session, or the session has another graph.
    """
    if session is not None:
        if session.graph is not graph:
            raise ValueError(
                "Cannot use the given session to execute operation: the operation's graph is "
                "different from the session's graph."
            )
        return session
    session = get_default_session()
    if session is None:
        raise ValueError(
            "Cannot execute operation using `run()`: No default session is registered. Use `with "
            "sess.as_default():` or pass an explicit session to `run(session=sess)`"
        )
    if session.graph is not graph:
        raise ValueError(
            "Cannot use the default session to execute operation: the operation's graph is "
            "different from the session's graph. Pass an explicit session to run(session=sess)."
        )
    return session
