"""`decode_json_example`: messages written as JSON."""

import json
from typing import Any

from tensorflow_comparison.table import case, generated


def feature(kind: str, values: Any) -> dict[str, Any]:
    """An example with one feature, according to the rules of protocol buffers."""
    return {"features": {"feature": {"a": {kind: {"value": values}}}}}


TEXTS: list[Any] = [
    *("{}", "", " ", "[]", "null", "3", '"a"', "{", "{]", '{"features": 3}', '{"nope": {}}'),
    *('{"features": {}}', '{"features": null}', '{"features": {"feature": null}}'),
    *('{"features": {"feature": {"a": {}}}}', '{"features": {"feature": {"a": null}}}'),
    *('{"features": {"feature": []}}', '{"features": {"feature": {"a": 3}}}'),
    *[feature("int64List", values) for values in ([], [1, -2], ["3", "-4"], [2**63 - 1], [2**63],
      [-(2**63)], ["9223372036854775807"], [1.0], [1.5], [1e3], ["a"], [True], [None], 3, "3",
      None)],
    *[feature("floatList", values) for values in ([], [1, -2.5], ["1.5"], ["NaN"], ["Infinity"],
      ["-Infinity"], [1e39], [1e308], ["inf"], [0.1], [True], [None], [3, [4]], [" 1.5"],
      ["1 "], ["+1"], [".5"], ["1."], [""], ["1e5"], ["-inf"], ["nan"], ["1f"],
      ["INF"], ["infinity"], [" "])],
    *[feature("bytesList", values) for values in ([], ["YQ=="], ["YQ"], ["/+8="], ["_-8="], ["*"],
      [""], [3], [" YQ=="], ["Y"])],
    feature("int64_list", [1]),
    feature("float_list", [1]),
    feature("int64list", [1]),
    '{"features": {"feature": {"a": {"int64List": {"value": [1]}, "floatList": {"value": [2]}}}}}',
    '{"features": {"feature": {"a": {"int64List": {"value": [1]}}, "a": {}}}}',
    '{"features": {"feature": {"a": {"int64List": {}}}}} x',
    '{"features": {"feature": {"\\u00e9": {"int64List": {"value": [1]}}}}}',
    '{"features": {"feature": {"\u00e9": {"int64List": {"value": [1]}}}}}',
    b'{"features": {"feature": {"\xff": {"int64List": {"value": [1]}}}}}',
    '{"features": {"feature": {"": {"int64List": {"value": [1]}}}}}',
    '{"features": {"feature": {}}}\n',
]  # fmt: skip


@case(*[(text if isinstance(text, (str, bytes)) else json.dumps(text),) for text in TEXTS])
def decoded(tf: Any, text: str | bytes) -> Any:
    """The message that a text represents, or the error."""
    with tf.Session() as session:
        return fields(tf, session.run(tf.decode_json_example(text)))


@case(
    ('{"features": {"feature": {"a": {"int64List": {"value": [1,]}}}}}',),
    ("{'features': {}}",),
    ("{features: {}}",),
    ('{"features": {}, "features": {"feature": {}}}',),
)
def decoded_though_it_is_no_json(tf: Any, text: str) -> Any:
    """Invalid JSON that other parsers allow."""
    with tf.Session() as session:
        return fields(tf, session.run(tf.decode_json_example(text)))


@case(([],), (["{}"],), ([["{}", "{}"]],), (3,), (["{}", "{"],))
def shapes(tf: Any, texts: Any) -> Any:
    """Texts in tensors of any shape."""
    return tf.decode_json_example(tf.constant(texts, tf.string) if texts == [] else texts)


@generated("json_examples")
def made_up(tf: Any, text: str) -> Any:
    """Generated examples as JSON."""
    with tf.Session() as session:
        return fields(tf, session.run(tf.decode_json_example(text)))


def fields(tf: Any, serialized: bytes) -> Any:
    """The contents of a message, with features sorted by name."""
    features = tf.train.Example.FromString(serialized).features.feature
    return [(name, str(features[name])) for name in sorted(features)]
