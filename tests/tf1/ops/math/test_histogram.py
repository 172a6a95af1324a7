import numpy as np
import pytest

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError


class TestBincount:
    def test_bincount_counts_integers(self, run):
        assert run(tf.bincount([1, 3, 3])).tolist() == [0, 1, 0, 2]
        assert run(tf.bincount(np.zeros([0], np.int32), minlength=2)).tolist() == [0, 0]
        assert run(tf.bincount([1, 3], maxlength=3)).tolist() == [0, 1, 0]
        weighed = tf.bincount([1, 3, 3], weights=[0.5, 1.0, 2.0])
        assert (weighed.dtype, run(weighed).tolist()) == (tf.float32, [0, 0.5, 0, 3])
        assert tf.bincount([1], dtype=tf.int64).dtype == tf.int64

    def test_bincount_rejects_negative_values_and_mismatched_weights(self, run):
        with pytest.raises(IAE, match="Input arr must be non-negative"):
            run(tf.bincount([2, -1]))
        with pytest.raises(IAE, match="weights and arr must have the same shape"):
            run(tf.bincount([2, 1], weights=[1.0]))


class TestHistogram:
    def test_histogram_counts_outliers_in_the_outermost_bins(self, run):
        values = [-1.0, 0.0, 1.5, 2.0, 5.0, 15.0]
        counts = tf.histogram_fixed_width(values, [0.0, 5.0], nbins=5, dtype=tf.int64)
        assert (counts.dtype, counts.shape) == (tf.int64, (5,))
        assert run(counts).tolist() == [2, 1, 1, 0, 2]
        bins = tf.histogram_fixed_width_bins([values], [0.0, 5.0], nbins=5)
        assert run(bins).tolist() == [[0, 0, 1, 2, 4, 4]]

    def test_histogram_rejects_invalid_ranges_and_bin_counts(self, run, hidden):
        with pytest.raises(ValueError, match="nbins should be a positive number, but got '0'"):
            tf.histogram_fixed_width([1.0], [0.0, 1.0], 0)
        with pytest.raises(IAE, match=r"but got '\[1.0, 1.0\]'"):
            run(tf.histogram_fixed_width([1.0], [1.0, 1.0]))
        with pytest.raises(IAE, match="nbins should be a positive number"):
            run(tf.histogram_fixed_width([1.0], [0.0, 1.0], hidden(0)))
        with pytest.raises(IAE, match="should be a vector of 2 elements"):
            run(tf.histogram_fixed_width([1.0], [0.0]))


class TestConfusionMatrix:
    def test_confusion_matrix_has_one_row_per_label(self, run):
        assert run(tf.confusion_matrix([1, 2, 2], [2, 2, 0])).tolist() == [
            [0, 0, 0],
            [0, 0, 1],
            [1, 0, 1],
        ]
        weighed = tf.confusion_matrix([[0], [1]], [1, 1], 2, tf.float32, weights=[0.5, 2])
        assert (weighed.shape, run(weighed).tolist()) == ((2, 2), [[0, 0.5], [0, 2]])

    def test_confusion_matrix_rejects_classes_out_of_range(self, run, hidden):
        for labels, predictions, number, words in (
            ([-1], [0], None, "`labels` contains negative values"),
            ([0], [-1], None, "`predictions` contains negative values"),
            ([2], [0], 2, "`labels` out of bound"),
            ([0], [2], 2, "`predictions` out of bound"),
        ):
            with pytest.raises(IAE, match=words):
                run(tf.confusion_matrix(hidden(labels), hidden(predictions), number))
        with pytest.raises(ValueError, match="are incompatible"):
            tf.confusion_matrix([0, 1], [0, 1], weights=[1, 2, 3])
