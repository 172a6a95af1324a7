"""Batches of generators' values."""

import numpy as np
import pytest

import headrace.tf1 as tf

make = tf.contrib.learn.io.generator_input_fn


def rows():
    for number in range(10):
        yield {"n": np.int64(number), "pair": np.array([number, -number]), "label": np.ones(1)}


def taken(fetches):
    results = []
    with tf.train.MonitoredSession() as sess:
        while not sess.should_stop():
            results.append(sess.run(fetches))
    return results


def test_rows_come_in_order_and_the_last_batch_is_smaller():
    features, label = make(rows, "label", 4, shuffle=False)()
    assert sorted(features) == ["n", "pair"]
    assert (features["pair"].shape.as_list(), label.shape.as_list()) == ([None, 2], [None, 1])
    result = taken([features, label])
    assert [one["n"].tolist() for one, _ in result] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert result[2][0]["pair"].tolist() == [[8, -8], [9, -9]]
    assert result[2][1].tolist() == [[1.0], [1.0]]


def test_epochs_are_shuffled():
    batches = taken(make(rows, None, 5, num_epochs=3)()["n"])
    numbers = np.concatenate(batches)
    assert sorted(numbers.tolist()) == sorted(list(range(10)) * 3)


def test_several_labels_are_returned_as_a_dict():
    features, labels = make(rows, ["n", "label"], 10, shuffle=False)()
    assert (sorted(features), sorted(labels)) == (["pair"], ["label", "n"])
    assert taken(labels["n"])[0].tolist() == list(range(10))


def test_rows_of_different_lengths_are_padded():
    def growing():
        for number in range(4):
            yield {"x": np.arange(number + 1)}

    features = make(growing, None, 2, shuffle=False, pad_value=-1)()
    assert features["x"].shape.as_list() == [None, None]
    first, second = taken(features["x"])
    assert first.tolist() == [[0, -1], [0, 1]]
    assert second.tolist() == [[0, 1, 2, -1], [0, 1, 2, 3]]


def test_row_without_a_key_ends_the_input_with_an_error():
    def lacking():
        yield {"a": 1, "b": 2}
        yield {"a": 1}

    with pytest.raises(tf.errors.UnknownError, match="key mismatch") as caught:
        taken(make(lacking, batch_size=1, shuffle=False)()["a"])
    assert "got ['a']" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({"x": [1]}, TypeError, "x must be generator function; got list"),
        ({"x": lambda: 3}, TypeError, r"x\(\) must be generator; got int"),
        ({"x": lambda: (n for n in [1])}, TypeError, r"x\(\) must yield dict; got int"),
        ({"target_key": 3}, TypeError, "must be string or Container of strings; got 3"),
        ({"target_key": [3]}, TypeError, "must be string or Container of strings; got 3"),
        ({"target_key": "z"}, KeyError, "not in yielded keys"),
        ({"pad_value": 0}, NotImplementedError, "shuffle=False"),
    ],
)
def test_invalid_generator_arguments_are_rejected(arguments, kind, text):
    with pytest.raises(kind, match=text):
        make(**{"x": rows, **arguments})
