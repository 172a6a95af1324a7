"""`tf.contrib.image`: rotation and translation of images.

Source: `tf.contrib.image` in TensorFlow 1.15.
"""

from typing import TYPE_CHECKING

from headrace.ops.image.transform import (
    angles_to_projective_transforms,
    rotate,
    transform,
    translate,
    translations_to_projective_transforms,
)
from headrace.tf1.namespace import namespace

__all__ = [
    "angles_to_projective_transforms",
    "rotate",
    "transform",
    "translate",
    "translations_to_projective_transforms",
]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
