"""`tf.audio`: audio in WAV files."""

from typing import TYPE_CHECKING

from headrace.tf1.namespace import namespace
from headrace.tf1.ops.records.wav import decode_wav, encode_wav

__all__ = ["decode_wav", "encode_wav"]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
