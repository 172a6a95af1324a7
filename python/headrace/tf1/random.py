"""`tf.random`: random operations under their newer names."""

from headrace.graph import get_seed, set_random_seed
from headrace.ops.random import (
    random_normal,
    random_shuffle,
    random_uniform,
    truncated_normal,
)

normal = random_normal
shuffle = random_shuffle
uniform = random_uniform

__all__ = [
    "get_seed",
    "normal",
    "set_random_seed",
    "shuffle",
    "truncated_normal",
    "uniform",
]
