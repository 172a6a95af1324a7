import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError


def example(**lists):
    message = tf.train.Example()
    for key, values in lists.items():
        kind = "float_list" if key == "v" else "int64_list"
        getattr(message.features.feature[key], kind).value.extend(values)
    return message.SerializeToString()


def merged(run, records, *arguments, **options):
    feature = tf.SparseFeature(*arguments, **options)
    parser = tf.parse_single_example if isinstance(records, bytes) else tf.parse_example
    value = run(parser(records, {"s": feature})["s"])
    return [part.tolist() for part in value]


def test_one_example_becomes_a_vector_ordered_by_index(run):
    record = example(i=[5, 0, 2], v=[1.0, 2.0, 3.0])
    assert merged(run, record, "i", "v", tf.float32, 9) == [
        *([[0], [2], [5]], [2.0, 3.0, 1.0], [9]),
    ]
    assert merged(run, record, ["i"], "v", tf.float32, [9], already_sorted=True) == [
        *([[5], [0], [2]], [1.0, 2.0, 3.0], [9]),
    ]
    assert merged(run, b"", "i", "v", tf.float32, 9) == [[], [], [9]]


def test_several_keys_become_several_dimensions(run):
    record = example(i=[1, 0, 1], j=[0, 7, -3], v=[1.0, 2.0, 3.0])
    assert merged(run, record, ["i", "j"], "v", tf.float32, [2, 8]) == [
        *([[0, 7], [1, -3], [1, 0]], [2.0, 3.0, 1.0], [2, 8]),
    ]


def test_batch_adds_a_first_dimension_for_the_example(run):
    records = [example(i=[3, 1], v=[1.0, 2.0]), b"", example(i=[0], v=[3.0])]
    assert merged(run, records, "i", "v", tf.float32, 4) == [
        *([[0, 1], [0, 3], [2, 0]], [2.0, 1.0, 3.0], [3, 4]),
    ]


def test_indices_are_not_compared_with_the_size(run):
    record = example(i=[99, -1], v=[1.0, 2.0])
    assert merged(run, record, "i", "v", tf.float32, 2) == [[[-1], [99]], [2.0, 1.0], [2]]


def test_static_shapes_and_names_are_inferred(run):
    feature = tf.SparseFeature(["i", "j"], "v", tf.float32, [4, 5])
    one = tf.parse_single_example(tf.placeholder(tf.string), {"s": feature})["s"]
    batch = tf.parse_example(tf.placeholder(tf.string, [None]), {"s": feature})["s"]
    assert (one.indices.shape.as_list(), one.dense_shape.shape.as_list()) == ([None, 2], [2])
    assert (batch.indices.shape.as_list(), batch.values.op.name) == ([None, 3], "SparseMerge_1")


@pytest.mark.parametrize(
    "records",
    [
        example(i=[1], v=[1.0, 2.0]),
        example(v=[1.0]),
        [example(i=[1], v=[1.0, 2.0]), example(i=[1, 2], v=[1.0])],
    ],
    ids=["fewer indices", "no indices", "two examples"],
)
@pytest.mark.parametrize("is_sorted", [False, True])
def test_numbers_of_indices_and_values_must_match(run, records, is_sorted):
    words = r"Number of elements in indices \(\d\) and values \(\d\) do not match: SparseFeature\("
    with pytest.raises(IAE, match=words):
        merged(run, records, "i", "v", tf.float32, 9, already_sorted=is_sorted)


def test_parts_can_be_requested_along_with_the_merged_feature(run):
    features = {
        "i": tf.VarLenFeature(tf.int64),
        "s": tf.SparseFeature("i", "v", tf.float32, 9),
        "v": tf.SparseFeature("i", "v", tf.float32, 5),
    }
    value = run(tf.parse_single_example(example(i=[2, 1], v=[1.0, 2.0]), features))
    assert list(value) == ["i", "v", "s"]
    assert value["i"].values.tolist() == [2, 1]
    assert (value["s"].dense_shape.tolist(), value["v"].dense_shape.tolist()) == ([9], [5])


@given(st.lists(st.dictionaries(st.integers(0, 9), st.integers(-5, 5)), max_size=4))
def test_sparse_rows_are_reassembled(rows):
    records = [example(i=list(row), v=[float(value) for value in row.values()]) for row in rows]
    expected = [[float(row.get(position, 0)) for position in range(10)] for row in rows]
    feature = tf.SparseFeature("i", "v", tf.float32, 10)
    with tf.Graph().as_default(), tf.Session() as session:
        records = tf.constant(records, tf.string, [len(rows)])
        parsed = tf.parse_example(records, {"s": feature})
        assert session.run(tf.sparse_tensor_to_dense(parsed["s"])).tolist() == expected
