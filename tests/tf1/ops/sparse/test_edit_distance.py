import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

WORDS = st.text("abc", max_size=6)


def sparse(words):
    positions = [[row, column] for row, word in enumerate(words) for column in range(len(word))]
    letters = [letter for word in words for letter in word]
    shape = [len(words), max(map(len, words), default=0)]
    indices = tf.constant(positions, tf.int64, [len(positions), 2])
    return tf.SparseTensor(indices, tf.constant(letters, tf.string, [len(letters)]), shape)


def distance(a, b):
    if not a or not b:
        return len(a) + len(b)
    longer = min(distance(a[1:], b), distance(a, b[1:])) + 1
    return min(longer, distance(a[1:], b[1:]) + (a[0] != b[0]))


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=3))
def test_edit_distance_is_the_minimum_number_of_edits(pairs):
    results, expected = zip(*pairs, strict=True)
    with tf.Graph().as_default(), tf.Session() as session:
        result = tf.edit_distance(sparse(results), sparse(expected), normalize=False)
        assert session.run(result).tolist() == [distance(*pair) for pair in pairs]


def test_edit_distance_is_divided_by_the_length_of_the_truth(run):
    result = tf.edit_distance(sparse(["ab", "a", "", "abcd"]), sparse(["abcd", "", "", "ab"]))
    assert (result.shape, run(result).tolist()) == ((4,), [0.5, float("inf"), 0, 1])


def test_edit_distance_requires_sparse_tensors(run):
    with pytest.raises(TypeError, match="Hypothesis must be a SparseTensor"):
        tf.edit_distance([1], sparse(["a"]))
    with pytest.raises(TypeError, match="Truth must be a SparseTensor"):
        tf.edit_distance(sparse(["a"]), [1])
