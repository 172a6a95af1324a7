"""`tf.nn`: what an evaluation needs of a network's last layer. Networks themselves are not here."""

from headrace.ops.activations import l2_normalize, relu, softmax
from headrace.ops.arithmetic import sigmoid, tanh
from headrace.ops.ranking import in_top_k, top_k

__all__ = ["in_top_k", "l2_normalize", "relu", "sigmoid", "softmax", "tanh", "top_k"]
