"""`tf.strings`: operations over strings under their newer names."""

from headrace.ops.hashing import string_to_hash_bucket_fast as to_hash_bucket_fast
from headrace.ops.regex import regex_full_match, regex_replace
from headrace.ops.string_split import split_strings as split
from headrace.ops.strings import as_string
from headrace.ops.strings import string_join as join
from headrace.ops.strings import string_to_number as to_number
from headrace.ops.text import reduce_join, substr
from headrace.ops.text import string_length as length
from headrace.ops.text import string_lower as lower
from headrace.ops.text import string_strip as strip
from headrace.ops.text import string_upper as upper

__all__ = [
    "as_string",
    "join",
    "length",
    "lower",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket_fast",
    "to_number",
    "upper",
]
