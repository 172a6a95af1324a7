"""Mode names: `tf.estimator.ModeKeys` and `tf.contrib.learn.ModeKeys`.

A program's input functions receive one of these modes as an argument.

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
