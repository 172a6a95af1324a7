import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError


def rows(value):
    """The parts of each string."""
    result = [[] for _ in range(value.dense_shape[0])]
    for (row, _), part in zip(value.indices.tolist(), value.values.tolist(), strict=True):
        result[row].append(part)
    assert value.dense_shape[1] == max(map(len, result), default=0)
    return result


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [[b"a", b"b,", b"c"], [], [b"d"]]),
        ({"sep": ","}, [[b"a b", b"  c"], [], [b" d "]]),
        ({"delimiter": " ,"}, [[b"a", b"b", b"c"], [], [b"d"]]),
        ({"skip_empty": False}, [[b"a", b"b,", b"", b"c"], [], [b"", b"d", b""]]),
        ({"sep": ""}, [[b"a", b" ", b"b", b",", b" ", b" ", b"c"], [], [b" ", b"d", b" "]]),
    ],
)
def test_each_delimiter_byte_splits_strings(run, options, expected):
    assert rows(run(tf.string_split(["a b,  c", "", " d "], **options))) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [[b"a", b"--b", b"c"], []]),
        ({"sep": "--"}, [[b" a ", b"b  c"], [b""]]),
        ({"maxsplit": 1}, [[b"a", b"--b  c"], []]),
        ({"maxsplit": 0}, [[b" a --b  c"], [b""]]),
        ({"sep": " ", "maxsplit": 2}, [[b"", b"a", b"--b  c"], [b""]]),
    ],
)
def test_word_or_white_space_splits(run, options, expected):
    assert rows(run(tf.strings.split([" a --b  c", ""], **options))) == expected


def test_scalar_is_split_like_a_vector_of_one(run):
    assert rows(run(tf.strings.split("a b"))) == [[b"a", b"b"]]


@pytest.mark.parametrize(
    ("split", "op_type"), [(tf.string_split, "StringSplit"), (tf.strings.split, "StringSplitV2")]
)
def test_static_shapes_and_names_are_inferred(hidden, split, op_type):
    parts = split(hidden(["a"]), name="scope")
    assert parts.indices.shape.as_list() == [None, 2]
    assert parts.values.shape.as_list() == [None]
    assert parts.dense_shape.shape == [2]
    assert (parts.values.op.name, parts.values.op.type) == (f"scope/{op_type}", op_type)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tf.string_split("a"), ValueError, "Shape must be rank 1 but is rank 0"),
        (lambda: tf.strings.split([["a"]]), ValueError, "Shape must be rank 1 but is rank 2"),
        (lambda: tf.string_split(["a"], sep=["b"]), ValueError, "Shape must be rank 0 but is ra"),
        (lambda: tf.string_split([5]), TypeError, "Expected string, got 5 of type 'int' instead"),
        (lambda: tf.string_split(["a"], " ", True, " "), ValueError, "both 'delimiter' and 'sep'"),
        (lambda: tf.strings.split(["a"], source=["a"]), ValueError, "both 'source' and 'input'"),
        (
            lambda: tf.strings.split(["a"], result_type="Tensor"),
            *(ValueError, "must be 'RaggedTensor' or 'SparseTensor', got 'Tensor'"),
        ),
    ],
)
def test_invalid_arguments_are_rejected_at_once(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_shapes_are_checked_when_known(run, hidden):
    with pytest.raises(IAE, match=r"input must be a vector, got shape: \[1,1\]"):
        run(tf.string_split(hidden([["a"]])))
    with pytest.raises(IAE, match=r"delimiter must be a scalar, got shape: \[1\]"):
        run(tf.string_split(["a"], sep=hidden(["a"])))


@given(st.lists(st.binary(max_size=9)), st.binary(min_size=1, max_size=2), st.integers(-1, 3))
def test_words_are_split_as_in_python(strings, separator, limit):
    with tf.Graph().as_default(), tf.Session() as session:
        source = tf.constant(strings, tf.string, [len(strings)])
        parts = tf.strings.split(source, sep=separator, maxsplit=limit)
        assert rows(session.run(parts)) == [text.split(separator, limit) for text in strings]


@pytest.mark.parametrize("split", [tf.strings.split, tf.string_split])
def test_parts_can_be_returned_as_a_ragged_tensor(run, split):
    parts = split(["a b", "", "c"], result_type="RaggedTensor")
    assert run(parts).to_list() == [[b"a", b"b"], [], [b"c"]]
    assert run(parts.to_tensor("_")).tolist() == [[b"a", b"b"], [b"_", b"_"], [b"c", b"_"]]
    empty = split(tf.constant([], tf.string), result_type="RaggedTensor")
    assert run(empty).to_list() == []
