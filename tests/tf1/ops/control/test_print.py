import re

import pytest

import headrace.tf1 as tf


def test_print_writes_its_values_in_each_run(run, capfd):
    result = tf.Print(tf.constant([1, 2]), [[1, 2, 3, 4], "a", 1.5], "here: ")
    assert result.shape == [2]
    for _ in range(2):
        assert run(result).tolist() == [1, 2]
    assert capfd.readouterr().err == "here: [1 2 3...][a][1.5]\n" * 2


def test_print_respects_first_n_and_summarize(run, capfd):
    result = tf.Print(1, [[1, 2, 3]], first_n=2, summarize=2)
    for _ in range(3):
        run(result)
    assert capfd.readouterr().err == "[1 2...]\n" * 2


def test_print_requires_a_list():
    words = "Expected list for 'data' argument to 'Print' Op, not 3."
    with pytest.raises(TypeError, match=re.escape(words)):
        tf.Print(1, 3)
