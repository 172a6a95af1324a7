"""Batches of `SequenceExample`s: padded lists and their lengths."""

import numpy as np
import pytest

import headrace.tf1 as tf

train = tf.train


def feature(values):
    if values and isinstance(values[0], str):
        return train.Feature(bytes_list=train.BytesList(value=[value.encode() for value in values]))
    if values and isinstance(values[0], float):
        return train.Feature(float_list=train.FloatList(value=values))
    return train.Feature(int64_list=train.Int64List(value=values))


def sequence(context, lists):
    return train.SequenceExample(
        context=train.Features(feature={key: feature(value) for key, value in context.items()}),
        feature_lists=train.FeatureLists(
            feature_list={
                key: train.FeatureList(feature=[feature(row) for row in rows])
                for key, rows in lists.items()
            }
        ),
    ).SerializeToString()


FIRST = sequence(
    {"size": [1, 2], "words": ["x"]},
    {"steps": [[1], [2], [3]], "ragged": [["a"], ["b", "c"]], "pairs": [[0.5, 1.5]]},
)
SECOND = sequence({"size": [3, 4]}, {"steps": [[7]], "ragged": []})
CONTEXT = {"size": tf.FixedLenFeature([2], tf.int64), "words": tf.VarLenFeature(tf.string)}
LISTS = {
    "steps": tf.FixedLenSequenceFeature([], tf.int64),
    "ragged": tf.VarLenFeature(tf.string),
    "pairs": tf.FixedLenSequenceFeature([2], tf.float32, allow_missing=True),
}


@pytest.fixture
def session():
    with tf.Session() as session:
        yield session


def test_lists_are_padded_to_the_longest(session):
    parsed = tf.io.parse_sequence_example([FIRST, SECOND], CONTEXT, LISTS)
    context, lists, lengths = session.run(parsed)
    assert context["size"].tolist() == [[1, 2], [3, 4]]
    assert context["words"].indices.tolist() == [[0, 0]]
    assert context["words"].dense_shape.tolist() == [2, 1]
    assert lists["steps"].tolist() == [[1, 2, 3], [7, 0, 0]]
    assert lists["pairs"].tolist() == [[[0.5, 1.5]], [[0.0, 0.0]]]
    assert lists["ragged"].indices.tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 1]]
    assert lists["ragged"].values.tolist() == [b"a", b"b", b"c"]
    assert lists["ragged"].dense_shape.tolist() == [2, 2, 2]
    assert {key: value.tolist() for key, value in lengths.items()} == {
        "steps": [3, 1],
        "pairs": [1, 0],
    }


def test_static_shapes_are_inferred():
    for records, rows in (([FIRST, SECOND], 2), (tf.placeholder(tf.string, [None]), None)):
        context, lists, lengths = tf.io.parse_sequence_example(records, CONTEXT, LISTS)
        assert context["size"].shape.as_list() == [rows, 2]
        assert lists["pairs"].shape.as_list() == [rows, None, 2]
        assert lists["ragged"].indices.shape.as_list() == [None, 3]
        assert lengths["steps"].shape.as_list() == [rows]


def test_batch_equals_its_single_examples(session):
    words = {"words": tf.FixedLenSequenceFeature([], tf.string)}
    records = [sequence({}, {"words": [["w" * n] for n in range(count)]}) for count in range(5)]
    _, lists, lengths = session.run(tf.io.parse_sequence_example(records, None, words))
    for number, record in enumerate(records):
        _, alone = session.run(tf.parse_single_sequence_example(record, None, words))
        assert lengths["words"][number] == number
        assert lists["words"][number, :number].tolist() == alone["words"].tolist()
        assert not any(lists["words"][number, number:])


def test_scalar_is_parsed_as_one_example(session):
    context, lists, lengths = session.run(tf.io.parse_sequence_example(FIRST, CONTEXT, LISTS))
    assert context["size"].tolist() == [1, 2]
    assert lists["pairs"].shape == (1, 2)
    assert lengths == {"steps": 3, "pairs": 1}


def test_no_examples_are_an_empty_batch(session):
    records = tf.placeholder(tf.string, [None])
    parsed = tf.io.parse_sequence_example(records, CONTEXT, LISTS)
    context, lists, lengths = session.run(parsed, {records: np.zeros(0, object)})
    assert context["size"].shape == (0, 2)
    assert lists["pairs"].shape == (0, 0, 2)
    assert lists["ragged"].dense_shape.tolist() == [0, 0, 0]
    assert lengths["steps"].shape == (0,)


def test_graph_round_trips_through_a_message(session):
    records = tf.placeholder(tf.string, [None], name="records")
    tf.identity(tf.io.parse_sequence_example(records, CONTEXT, LISTS)[1]["steps"], name="steps")
    message = tf.get_default_graph().as_graph_def()
    (steps,) = tf.import_graph_def(message, {"records": records}, ["steps:0"])
    assert session.run(steps, {records: [SECOND]}).tolist() == [[7]]


class TestRefusals:
    def refused(self, session, records, match, names=None, lists=None):
        parsed = tf.io.parse_sequence_example(records, CONTEXT, lists or LISTS, names)
        with pytest.raises(tf.errors.InvalidArgumentError, match=match):
            session.run(parsed)

    def test_error_for_missing_features_names_the_example(self, session):
        empty = sequence({"size": [1, 2]}, {})
        self.refused(session, [FIRST, empty], "Name: two, Feature list 'steps'", ["one", "two"])
        self.refused(session, [sequence({}, {})], "Context feature 'size'")

    def test_features_of_the_wrong_type_are_rejected(self, session):
        words = sequence({"size": [1, 2]}, {"steps": [["x"]]})
        self.refused(session, [words], "list: steps, Index: 0. .* Expected type: int64")

    def test_non_sequence_values_are_rejected(self, session):
        self.refused(session, ["zz"], "Could not parse example input")

    def test_wrong_number_of_example_names_is_rejected(self, session):
        self.refused(session, [FIRST, SECOND], "len\\(debug_name\\)", ["one"])

    def test_missing_features_and_defaults_are_rejected(self):
        with pytest.raises(ValueError, match="at least one should have values"):
            tf.io.parse_sequence_example([FIRST])
        arguments = {"steps": tf.FixedLenSequenceFeature([], tf.int64, default_value=3)}
        with pytest.raises(ValueError, match="must be None"):
            tf.io.parse_sequence_example([FIRST], None, arguments)
        with pytest.raises(ValueError, match="rank"):
            tf.io.parse_sequence_example([[FIRST]], CONTEXT)
