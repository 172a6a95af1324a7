"""`tf.random`: random operations under their newer names."""

from typing import TYPE_CHECKING

from headrace.graph import get_seed, set_random_seed
from headrace.ops.random.numbers import random_normal, random_uniform, truncated_normal
from headrace.ops.random.shuffle import random_shuffle
from headrace.tf1.adapters.math import multinomial
from headrace.tf1.namespace import namespace
from headrace.tf1.ops.random.categorical import categorical

normal = random_normal
shuffle = random_shuffle
uniform = random_uniform

__all__ = [
    "categorical",
    "get_seed",
    "multinomial",
    "normal",
    "set_random_seed",
    "shuffle",
    "truncated_normal",
    "uniform",
]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
