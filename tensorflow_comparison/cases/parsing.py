"""Parses examples and sequence examples."""

from typing import Any

from tensorflow_comparison.table import case, generated
from tensorflow_comparison.wire import entry, feature, field

DEFAULTS: dict[str, Any] = {"int64": -1, "float32": -0.5, "string": "none"}


def feature_of(tf: Any, output: Any) -> Any:
    """Returns the specification of one feature to parse."""
    name, kind, *rest = output
    if name == "VarLen":
        return tf.VarLenFeature(kind)
    shape, flag = rest
    if name == "Sequence":
        return tf.FixedLenSequenceFeature(shape, kind, allow_missing=flag)
    size = shape[0] if shape else 1
    default = ([DEFAULTS[kind]] * size if shape else DEFAULTS[kind]) if flag else None
    return tf.FixedLenFeature(shape, kind, default)


def features_of(tf: Any, expected: dict[str, Any]) -> Any:
    """Returns the features to parse."""
    return {name: feature_of(tf, output) for name, output in expected.items()}


@generated("examples")
def examples(tf: Any, serialized: list[bytes], expected: dict[str, Any]) -> Any:
    """A batch of examples."""
    return tf.parse_example(serialized, features_of(tf, expected))


@generated("examples")
def single_example(tf: Any, serialized: list[bytes], expected: dict[str, Any]) -> Any:
    """One example."""
    return tf.parse_single_example(serialized[0], features_of(tf, expected))


@generated("sequence_examples")
def sequence_example(
    tf: Any, serialized: bytes, context: dict[str, Any], sequence: dict[str, Any]
) -> Any:
    """One sequence example."""
    return tf.parse_single_sequence_example(
        serialized, features_of(tf, context), features_of(tf, sequence)
    )


def example(**values: tuple[str, list[Any]]) -> bytes:
    """Writes an example."""
    body = b"".join(
        entry(name, feature(*output, is_packed=True)) for name, output in values.items()
    )
    return field(1, body)


ONE = example(a=("int64", [1]), b=("float32", [0.5, 1.5]), c=("string", [b"x"]))


@case(
    *[({"a": ("FixedLen", "int64", shape, False)},) for shape in ((), (1,), [1, 1], (2,), None)],
    *[({"a": ("FixedLen", "int64", shape, False)},) for shape in ((None,), "x", (-1,), 1)],
    *[({"b": ("Sequence", "float32", shape, True)},) for shape in ((), (2,), (3,), (None,))],
    *[({"b": ("Sequence", "float32", (), False)},), ({"b": ("VarLen", "int32")},)],
    *[({"a": ("VarLen", "float32")},), ({"a": ("VarLen", "bogus")},), ({},)],
    ({"x": ("FixedLen", "string", (), True), "c": ("VarLen", "string")},),
    ({"x": ("FixedLen", "string", (2,), True), "a": ("FixedLen", "int64", (), False)},),
    ({"b": ("VarLen", "float32"), "a": ("VarLen", "int64"), "x": ("VarLen", "int64")},),
)
def parsed(tf: Any, expected: dict[str, Any]) -> Any:
    """Features of one example, in a batch and alone."""
    features = features_of(tf, expected)
    return tf.parse_example([ONE, ONE], features), tf.parse_single_example(ONE, features)


@case(
    (3,),
    (None,),
    ({"a": 3},),
    ({3: "VarLen"},),
    ([],),
    ({"a": "VarLen"},),
    ({"a": None},),
)
def parsed_with_other_features(tf: Any, features: Any) -> Any:
    """Invalid descriptions of features."""
    return tf.parse_example([ONE], features)


@case((1.5,), ("x",), ([1, 2],), ([1],), (None,), ([],))
def parsed_with_default(tf: Any, default: Any) -> Any:
    """Valid and invalid defaults of a scalar integer."""
    features = {"x": tf.FixedLenFeature([], tf.int64, default)}
    return tf.parse_example([ONE], features), tf.parse_single_example(ONE, features)


@case(
    ([ONE], None),
    (["junk"], None),
    (["junk"], ["name"]),
    ([ONE], ["name"]),
    ([ONE], ["name", "other"]),
    (5, None),
)
def serialized_as(tf: Any, serialized: Any, names: Any) -> Any:
    """Valid forms of serialized examples."""
    return tf.parse_example(serialized, {"a": tf.VarLenFeature("int64")}, example_names=names)


@case(([None],), ([3],))
def known_before(tf: Any, shape: Any) -> Any:
    """Static shapes of parsed tensors."""
    features = {
        "a": tf.FixedLenFeature([2, 3], tf.int64),
        "b": tf.VarLenFeature(tf.string),
        "c": tf.FixedLenSequenceFeature([4], tf.float32, allow_missing=True),
    }
    output = tf.parse_example(tf.placeholder(tf.string, shape), features)
    return {name: str(output[name].shape) for name in output}


@case((None,), ([],), ([2, 1],))
def known_before_of_other_ranks(tf: Any, shape: Any) -> Any:
    """Static shapes if the examples are not a vector."""
    features = {"a": tf.FixedLenFeature([2, 3], tf.int64)}
    return str(tf.parse_example(tf.placeholder(tf.string, shape), features)["a"].shape)


SPARSE = example(i=("int64", [0, 2]), j=("int64", [1, 0]), v=("float32", [0.5, 1.5]))
UNSORTED = example(i=("int64", [2, 0]), j=("int64", [1, 1]), v=("float32", [0.5, 1.5]))
SHORT = example(i=("int64", [0]), j=("int64", [1]), v=("float32", [0.5, 1.5]))
FAR = example(i=("int64", [0, 9]), j=("int64", [1, 0]), v=("float32", [0.5, 1.5]))


@case(
    *[(text, keys, sizes, flag)
      for text in (SPARSE, UNSORTED, FAR)
      for keys, sizes in (("i", 4), (["i", "j"], [4, 2]))
      for flag in (False, True)],
    (SPARSE, ["i"], [4, 2], False),
    (SPARSE, "i", None, False),
    (SPARSE, 5, 5, False),
)  # fmt: skip
def sparse(tf: Any, serialized: bytes, keys: Any, size: Any, already_sorted: bool) -> Any:
    """Tensors from lists of indices and a list of values."""
    feature = tf.SparseFeature(keys, "v", tf.float32, size, already_sorted)
    return tf.parse_example([serialized, SPARSE], {"s": feature}), tf.parse_single_example(
        serialized, {"s": feature}
    )


@case(*[(keys, size, flag) for keys, size in (("i", 4), (["i", "j"], [4, 2]))
        for flag in (False, True)])  # fmt: skip
def sparse_with_too_few_indices(tf: Any, keys: Any, size: Any, already_sorted: bool) -> Any:
    """More values than indices."""
    feature = tf.SparseFeature(keys, "v", tf.float32, size, already_sorted)
    return tf.parse_single_example(SHORT, {"s": feature})


def _sequence(tf: Any, sizes: Any, steps: Any, words: Any) -> bytes:
    """A `SequenceExample` with two lists."""
    train = tf.train

    def texts(values: Any) -> Any:
        return train.Feature(bytes_list=train.BytesList(value=[v.encode() for v in values]))

    def numbers(values: Any) -> Any:
        return train.Feature(int64_list=train.Int64List(value=values))

    context = {"size": numbers(sizes)} if sizes else {}
    lists = {
        "steps": train.FeatureList(feature=[numbers(step) for step in steps]),
        "words": train.FeatureList(feature=[texts(row) for row in words]),
    }
    message = train.SequenceExample(
        context=train.Features(feature=context),
        feature_lists=train.FeatureLists(feature_list=lists),
    )
    data: bytes = message.SerializeToString()
    return data


@case(
    [[[[1, 2], [[1], [2]], [["a"], ["b", "c"]]], [[3, 4], [[5]], []]]],
    [[[[1, 2], [], []]]],
    [[[None, [[1]], []]]],
    [[[[1], [[1]], []]]],
    [[[[1, 2], [[1, 2]], []]]],
)
def sequences(tf: Any, examples: Any) -> Any:
    """Batches of `SequenceExample`s."""
    records = [_sequence(tf, *parts) for parts in examples]
    parsed = tf.io.parse_sequence_example(
        records,
        {"size": tf.FixedLenFeature([2], tf.int64)},
        {
            "steps": tf.FixedLenSequenceFeature([], tf.int64),
            "words": tf.VarLenFeature(tf.string),
        },
    )
    shapes = [str(part.shape) for part in (parsed[0]["size"], parsed[1]["steps"])]
    with tf.Session() as session:
        return shapes, session.run(parsed)
