"""The names for what an input is used for: `tf.estimator.ModeKeys` and `tf.contrib.learn.ModeKeys`.

The input functions of programs get one of these names as an argument.

Source: TensorFlow 1.15.
"""

__all__ = ["EstimatorModeKeys", "LearnModeKeys"]


class EstimatorModeKeys:
    """The modes of `tf.estimator`."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


class LearnModeKeys:
    """The modes of `tf.contrib.learn`."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"
