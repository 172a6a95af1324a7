"""Regular expressions that hypothesis makes up, and operations made of them."""

from typing import Any

from tensorflow_comparison.table import case, generated


@generated("expressions")
def searched(tf: Any, pattern: str, rewrite: str, texts: list[bytes]) -> Any:
    """The matches of an expression in texts, some of which are not UTF-8."""
    feeds = {
        tf.placeholder(tf.string, shape): value
        for shape, value in (([None], texts), ([], pattern), ([], rewrite))
    }
    strings, expression, substitute = feeds
    fetches = [
        tf.regex_replace(strings, expression, substitute),
        tf.regex_replace(strings, pattern, rewrite),
        tf.regex_replace(strings, expression, substitute, replace_global=False),
        tf.strings.regex_full_match(strings, expression),
        tf.strings.regex_full_match(strings, pattern),
    ]
    with tf.Session() as session:
        try:
            return session.run(fetches, feeds)
        # TensorFlow takes "[[" in the text of its own error for the name of an operation.
        except (tf.errors.InvalidArgumentError, ValueError, KeyError):
            return "refused"


@case(("a", "b"), (b"a", b"\xff"), ("a", None), (None, "b"), (None, None))
def made(tf: Any, pattern: Any, rewrite: Any) -> Any:
    """The operation for strings of Python and for tensors, which are None here."""
    expression, substitute = (
        tf.constant("x") if value is None else value for value in (pattern, rewrite)
    )
    strings = tf.constant(["ax"])
    ops = [
        tf.regex_replace(strings, expression, substitute).op,
        tf.strings.regex_full_match(strings, expression).op,
    ]
    return [(op.type, op.name, len(op.inputs)) for op in ops]


@case(("replace_global", 1), ("replace_global", "x"), ("pattern", ["a"]), ("pattern", 1))
def made_badly(tf: Any, argument: str, value: Any) -> Any:
    """Arguments of other types and ranks."""
    return tf.regex_replace(**{"input": "a", "pattern": "a", "rewrite": "b", argument: value})
