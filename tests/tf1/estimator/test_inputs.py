"""Input functions over arrays."""

import numpy as np
import pytest

import headrace.tf1 as tf

numpy_input_fn = tf.estimator.inputs.numpy_input_fn


def taken(fetches):
    """Returns all results of a pipeline."""
    results = []
    with tf.train.MonitoredSession() as sess:
        while not sess.should_stop():
            results.append(sess.run(fetches))
    return results


def test_features_and_labels_are_batched_in_order():
    x = {"a": np.arange(10, dtype=np.float32).reshape(5, 2), "b": np.array(list("vwxyz"))}
    features, labels = numpy_input_fn(x, np.arange(5), batch_size=2, shuffle=False)()
    assert sorted(features) == ["a", "b"]
    assert features["a"].shape.as_list() == [None, 2]
    assert (features["b"].dtype, labels.dtype) == (tf.string, tf.int64)
    result = taken([features["a"], features["b"], labels])
    assert [batch[0].tolist() for batch in result] == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9]]]
    assert [batch[1].tolist() for batch in result] == [[b"v", b"w"], [b"x", b"y"], [b"z"]]
    assert [batch[2].tolist() for batch in result] == [[0, 1], [2, 3], [4]]


def test_array_becomes_a_tensor_and_batches_span_epochs():
    batch = numpy_input_fn(np.arange(3), batch_size=2, num_epochs=2, shuffle=False)()
    assert [value.tolist() for value in taken(batch)] == [[0, 1], [2, 0], [1, 2]]


def test_labels_can_be_a_dict():
    array = numpy_input_fn({"a": np.zeros(2)}, {"b": np.ones(2)}, shuffle=False)()
    [(features, labels)] = taken(array)
    assert features["a"].tolist() == [0, 0]
    assert labels["b"].tolist() == [1, 1]


def test_shuffled_rows_appear_once_per_epoch():
    x = np.arange(50)
    batch = numpy_input_fn((x), x * 2, batch_size=7, shuffle=True, num_threads=3)()
    result = taken(list(batch))
    rows, doubles = (np.concatenate(part) for part in zip(*result, strict=True))
    assert sorted(rows) == list(range(50))
    assert rows.tolist() != list(range(50))
    assert (doubles == rows * 2).all()


def test_input_without_num_epochs_is_endless():
    batch = numpy_input_fn(np.arange(2), batch_size=3, num_epochs=None, shuffle=False)()
    assert batch.shape.as_list() == [3]
    with tf.train.MonitoredSession() as sess:
        assert [sess.run(batch).tolist() for _ in range(2)] == [[0, 1, 0], [1, 0, 1]]


@pytest.mark.parametrize(
    ("error", "arguments", "message"),
    [
        (ValueError, {"x": np.zeros(1)}, "explicitly set as boolean"),
        (ValueError, {"x": {}, "shuffle": True}, "x cannot be an empty dict"),
        (TypeError, {"x": [1], "shuffle": True}, "x must be a dict or array; got list"),
        (
            ValueError,
            {"x": {"a": np.zeros(1)}, "y": np.zeros(2), "shuffle": True},
            r"mismatched.*x\['a'\]: 1, y",
        ),
    ],
)
def test_invalid_arguments_are_rejected(error, arguments, message):
    with pytest.raises(error, match=message):
        numpy_input_fn(**arguments)


class Frame:
    """A small `DataFrame`, with the methods that the tests need."""

    class Column(list):
        def to_numpy(self):
            return np.asarray(self)

    def __init__(self, index, **columns):
        self.index = index
        self._columns = columns
        self.columns = list(columns)

    def __getitem__(self, name):
        return self.Column(self._columns[name])

    def __contains__(self, name):
        return name in self._columns


def test_frame_columns_become_features():
    frame = Frame([0, 1], a=[1, 2], b=["x", "y"])
    labels = Frame([0, 1], t=[0.5, 1.5])
    output = tf.estimator.inputs.pandas_input_fn(frame, labels, shuffle=False)()
    [(features, targets)] = taken(output)
    assert {name: value.tolist() for name, value in features.items()} == {
        "a": [1, 2],
        "b": [b"x", b"y"],
    }
    assert targets["t"].tolist() == [0.5, 1.5]


@pytest.mark.parametrize(
    ("error", "arguments", "message"),
    [
        (TypeError, {"x": np.zeros(1)}, "x must be pandas.DataFrame"),
        (ValueError, {"x": Frame([0], a=[1]), "y": Frame([1], t=[1])}, "Index for x and y"),
        (ValueError, {"x": Frame([0], target=[1]), "y": Frame([0], t=[1])}, "Cannot use name"),
        (TypeError, {"x": Frame([0], a=[1]), "target_column": 1}, "must be a string type"),
    ],
)
def test_invalid_frames_are_rejected(error, arguments, message):
    with pytest.raises(error, match=message):
        tf.estimator.inputs.pandas_input_fn(**arguments, shuffle=False)
