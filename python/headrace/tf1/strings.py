"""`tf.strings`: operations on strings under their newer names."""

from headrace.ops.string_split import split_strings as split
from headrace.ops.strings import as_string
from headrace.ops.strings import string_join as join
from headrace.ops.strings import string_to_number as to_number

__all__ = ["as_string", "join", "split", "to_number"]
