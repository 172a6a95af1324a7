"""Matching and replacing with regular expressions.

Expressions use RE2 syntax. The search is native, does not hold the GIL, and takes time proportional
to the length of the text.

Source: `tf.strings.regex_replace` and `tf.strings.regex_full_match` in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.attributes import bool_attr
from headrace.ops.framework.batching import rows_of_first
from headrace.ops.framework.inference import check_rank

__all__ = ["regex_full_match", "regex_replace"]


def regex_replace(
    input: TensorLike,
    pattern: TensorLike,
    rewrite: TensorLike,
    replace_global: bool = True,
    name: str | None = None,
) -> Tensor:
    r"""Replaces the matches of a regular expression in each string.

    Args:
        input: The strings.
        pattern: The expression, a scalar, in RE2 syntax: no look-around and no backreferences.
        rewrite: The replacement, a scalar. `\0` is the whole match, and `\1` to `\9` are groups.
        replace_global: If True, replaces every match. If False, replaces only the first match.
        name: Name of the operation.

    Returns:
        Strings of the same shape.

    Raises:
        InvalidArgumentError: At run time, if the expression or `rewrite` is invalid.

    Examples:
        >>> clean = hr.native(lambda one: {"x": hr.ops.regex_replace(one["x"], "[0-9]+", "N")})
        >>> clean({"x": b"12 apples"})
        {'x': b'N apples'}
    """
    attrs: dict[str, Any] = {"replace_global": bool_attr("replace_global", replace_global)}
    inputs = [Input("input", input, dtypes.string)]
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        attrs |= {"pattern": pattern, "rewrite": rewrite}
        op_type = "StaticRegexReplace"
    else:
        inputs.append(Input("pattern", pattern, dtypes.string))
        inputs.append(Input("rewrite", rewrite, dtypes.string))
        op_type = "RegexReplace"

    def infer(strings: Tensor, *scalars: Tensor) -> Outputs:
        for tensor in scalars:
            check_rank(tensor.shape, 0)
        return [(dtypes.string, strings.shape)]

    return apply_op(op_type, inputs, infer, name=name, attrs=attrs).outputs[0]


def regex_full_match(input: TensorLike, pattern: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether a regular expression matches each whole string.

    Args:
        input: The strings.
        pattern: The expression, a scalar; see `regex_replace`.
        name: Name of the operation.

    Returns:
        Bools of the same shape.

    Raises:
        InvalidArgumentError: At run time, if the expression is invalid.
    """
    attrs: dict[str, Any] = {}
    inputs = [Input("input", input, dtypes.string)]
    if isinstance(pattern, (str, bytes)):
        attrs["pattern"] = pattern
        op_type = "StaticRegexFullMatch"
    else:
        inputs.append(Input("pattern", pattern, dtypes.string))
        op_type = "RegexFullMatch"

    def infer(strings: Tensor, *scalars: Tensor) -> Outputs:
        for tensor in scalars:
            check_rank(tensor.shape, 0)
        return [(dtypes.bool, strings.shape)]

    return apply_op(op_type, inputs, infer, name=name, attrs=attrs).outputs[0]


define("RegexFullMatch", batch_rule=rows_of_first)
define("RegexReplace", batch_rule=rows_of_first)
define("StaticRegexFullMatch", batch_rule=rows_of_first)
define("StaticRegexReplace", batch_rule=rows_of_first)
