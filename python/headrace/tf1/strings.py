"""`tf.strings`: string operations under their newer names."""

from typing import TYPE_CHECKING

from headrace.ops.strings.case import string_lower as lower
from headrace.ops.strings.case import string_strip as strip
from headrace.ops.strings.case import string_upper as upper
from headrace.ops.strings.convert import as_string
from headrace.ops.strings.hash_bucket import string_to_hash_bucket_fast as to_hash_bucket_fast
from headrace.ops.strings.hash_bucket import string_to_hash_bucket_strong as to_hash_bucket_strong
from headrace.ops.strings.join import string_join as join
from headrace.ops.strings.regex import regex_full_match, regex_replace
from headrace.tf1.adapters.strings import reduce_join, substr
from headrace.tf1.adapters.strings import split_strings as split
from headrace.tf1.adapters.strings import string_length as length
from headrace.tf1.adapters.strings import string_to_hash_bucket as to_hash_bucket
from headrace.tf1.adapters.strings import string_to_number as to_number
from headrace.tf1.namespace import namespace
from headrace.tf1.ops.strings.format import string_format as format
from headrace.tf1.ops.strings.unicode import (
    unicode_decode,
    unicode_decode_with_offsets,
    unicode_encode,
    unicode_script,
    unicode_split,
    unicode_split_with_offsets,
    unicode_transcode,
)

__all__ = [
    "as_string",
    "format",
    "join",
    "length",
    "lower",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "unicode_decode",
    "unicode_decode_with_offsets",
    "unicode_encode",
    "unicode_script",
    "unicode_split",
    "unicode_split_with_offsets",
    "unicode_transcode",
    "upper",
]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
