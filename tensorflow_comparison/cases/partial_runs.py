"""Runs in parts: `Session.partial_run_setup` and `partial_run`."""

from typing import Any

from tensorflow_comparison.table import case


def _graph(tf: Any) -> Any:
    """Three placeholders, the sum of two, and its product with the third."""
    a, b, c = (tf.placeholder(tf.float32, [], name=name) for name in "abc")
    total = tf.add(a, b, name="total")
    return a, b, c, total, tf.multiply(total, c, name="product")


@case()
def usual(tf: Any) -> Any:
    """Two partial runs. The results of the first are fed to the second."""
    a, b, c, total, product = _graph(tf)
    with tf.Session() as session:
        handle = session.partial_run_setup([total, product], [a, b, c])
        first = session.partial_run(handle, total, {a: 1, b: 2})
        return first, session.partial_run(handle, {"p": [product]}, {c: first * 17})


@case()
def drawn_once(tf: Any) -> Any:
    """A random number that both parts use."""
    number = tf.random_uniform([], seed=1)
    factor = tf.placeholder(tf.float32, [])
    shown, product = number + 0, number * factor
    with tf.Session() as session:
        handle = session.partial_run_setup([shown, product], [factor])
        first = session.partial_run(handle, shown)
        return first, session.partial_run(handle, product, {factor: 2}) == first * 2


@case(
    [["total"], ["a", "b"], [[["total"], {"a": 1, "b": 2}], [["total"], {}]]],
    [["total", "product"], "abc", [[["total"], {"a": 1, "b": 2}], [["total"], {"c": 1}]]],
    [["total", "product"], "abc", [[["total"], {"a": 1, "b": 2}], [["product"], {"a": 1}]]],
    [["total", "product"], "abc", [[["product"], {"a": 1, "b": 2}]]],
    [["total", "product"], "abc", [[[], {"a": 1}], [["total", "product"], {"b": 2, "c": 2}]]],
    [["total"], ["a", "b"], [[["product"], {"a": 1, "b": 2}]]],
    [["total"], ["a", "b"], [[["total"], {"a": 1, "b": 2, "c": 3}]]],
    [["total"], [], [[["total"], {"a": 1, "b": 2}]]],
    [["product"], ["total", "c"], [[["product"], {"total": 1, "c": 2}]]],
    [["total", "total"], ["a", "b"], [[["total", "total"], {"a": 1, "b": 2}]]],
    [["total", "a"], ["a", "b"], []],
    [["total"], ["a", "b", "a"], []],
    [[], ["a"], []],
)
def parts(tf: Any, fetches: list[str], feeds: Any, runs: Any) -> Any:
    """Valid and invalid parts."""
    _graph(tf)
    with tf.Session() as session:
        names = [f"{name}:0" for name in feeds]
        handle = session.partial_run_setup([f"{name}:0" for name in fetches], names)
        return [
            session.partial_run(
                handle,
                [f"{name}:0" for name in expected],
                {f"{name}:0": value for name, value in item.items()},
            )
            for expected, item in runs
        ]
