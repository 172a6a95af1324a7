"""Names of what an input is for: `tf.estimator.ModeKeys` and `tf.contrib.learn.ModeKeys`.

Input functions of programs are given one of them.

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
