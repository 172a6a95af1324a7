"""`chat`: the tokens of a conversation, for plain Python."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from headrace.io import storage
from headrace.ops.strings import chat as ops
from headrace.ops.strings.tokenizer_files import checked_path, file_names
from headrace.pipeline.functions.native_function import NativeFunction
from headrace.pipeline.native_functions.function import native

__all__ = ["chat"]

# How many functions to cache, one for each combination of tokenizer and options.
_MOST_FUNCTIONS: Final = 16


class ChatTokens(NamedTuple):
    """A conversation as tokens.

    Attributes:
        tokens: int32, (tokens,).
        loss_weights: float32, (tokens,): 1 for tokens to train on, else 0.
    """

    tokens: np.ndarray[Any, np.dtype[np.int32]]
    loss_weights: np.ndarray[Any, np.dtype[np.float32]]


def chat(
    tokenizer: str | os.PathLike[str],
    messages: str | bytes | Sequence[Mapping[str, Any]],
    tools: str | bytes | Sequence[Mapping[str, Any]] | None = None,
    template: str | None = None,
    loss: ops.Loss = "assistant",
    add_generation_prompt: bool = False,
    *,
    completion: str | bytes | Sequence[Mapping[str, Any]] | None = None,
    max_length: int | None = None,
    variables: Mapping[str, Any] | None = None,
    now: datetime.datetime | None = None,
) -> ChatTokens:
    """Renders a conversation with a chat template and tokenizes it, outside a native function.

    It works like `headrace.ops.chat`, but accepts and returns Python values. In a pipeline,
    `headrace.ops.chat` is faster.

    Args:
        tokenizer: The folder of a tokenizer; see `headrace.ops.chat`.
        messages: A list of dicts with `role` and `content`, or its JSON text.
        tools: The JSON schemas of functions, as a list of dicts or JSON text.
        template: The name, path or text of a template.
        loss: The tokens to train on: "assistant", "last", "completion" or "all".
        add_generation_prompt: If True, appends the start of the assistant's answer.
        completion: The messages that follow `messages`, if `loss` is "completion".
        max_length: The maximum number of tokens. Turns at the end are left out if necessary.
        variables: Additional template variables.
        now: The time that the template's `strftime_now` returns. Defaults to the current time.

    Returns:
        A pair: `tokens`, int32, (tokens,), and `loss_weights`, float32, (tokens,).

    Raises:
        InvalidArgumentError: If a file or the template is invalid, if the template rejects the
            conversation, or if there are no tokens to train on.
        NotFoundError: If the folder, its `tokenizer.json` or the template does not exist.
        TypeError: If an argument has the wrong type.
        ValueError: If an argument is invalid.

    Examples:
        >>> import json
        >>> from pathlib import Path
        >>> words = {"type": "WordLevel", "vocab": {"hi": 0, "hello": 1}, "unk_token": "hi"}
        >>> content = json.dumps({"model": words, "pre_tokenizer": {"type": "Whitespace"}})
        >>> Path("tokenizer").mkdir()
        >>> length = Path("tokenizer/tokenizer.json").write_text(content)
        >>> turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
        >>> template = "{% for m in messages %}{{ m.content }} {% endfor %}"
        >>> hr.chat("tokenizer", turns, template=template, loss="last").loss_weights
        array([0., 1.], dtype=float32)
    """
    folder = checked_path("chat", tokenizer, "tokenizer's folder")
    files = tuple(_version(path) for path in _files(folder, template))
    options = {"template": template, "loss": loss, "add_generation_prompt": add_generation_prompt}
    limits = {"max_length": max_length, "now": now}
    function = _function(
        folder,
        files,
        tools is not None,
        completion is not None,
        None if variables is None else json.dumps(dict(variables)),
        tuple((options | limits).items()),
    )
    texts = {"messages": messages, "tools": tools, "completion": completion}
    result = function({name: _text(name, value) for name, value in texts.items()})
    return ChatTokens(result["tokens"], result["loss_weights"])


@lru_cache(maxsize=_MOST_FUNCTIONS)
def _function(
    folder: str,
    files: tuple[tuple[int, int], ...],
    has_tools: bool,
    has_completion: bool,
    variables: str | None,
    options: tuple[tuple[str, Any], ...],
) -> NativeFunction:
    """Returns the native function for a tokenizer. `files` has the versions of its files."""

    @native
    def render(example):  # type: ignore[no-untyped-def]
        return ops.chat(
            folder,
            example["messages"],
            example["tools"] if has_tools else None,
            completion=example["completion"] if has_completion else None,
            variables=None if variables is None else json.loads(variables),
            **dict(options),
        )._asdict()

    return render


def _files(folder: str, template: str | None) -> list[str]:
    has_path = template is not None and template.endswith(".jinja")
    return [*file_names(folder), *([template] if has_path and template is not None else [])]


def _version(path: str) -> tuple[int, int]:
    if not storage.exists(path):
        return 0, 0
    entry = storage.status(path)
    return entry.length, entry.modified_ns


def _text(name: str, value: str | bytes | Sequence[Mapping[str, Any]] | None) -> bytes:
    if value is None:
        return b""
    if isinstance(value, (str, bytes)):
        return value.encode() if isinstance(value, str) else value
    return ops.json_text(name, value)
