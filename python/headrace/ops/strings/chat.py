"""Converts conversations to tokens with a tokenizer's chat template.

Source: `apply_chat_template` of transformers.
"""

from __future__ import annotations

import datetime
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from headrace.core import dtypes, engine
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.attributes import bool_attr, int_attr
from headrace.ops.strings.tokenizer_files import checked_path, read_folder

__all__ = ["chat"]

Loss = Literal["assistant", "all", "last", "completion"]
Conversation = TensorLike | Sequence[Mapping[str, Any]]
_LOSSES: Final = ("assistant", "all", "last", "completion")
# Templates for which the warning about blocks that end before the end-of-turn token was issued.
_reported: Final[set[str]] = set()


class Chat(NamedTuple):
    """The result of `chat`.

    Attributes:
        tokens: int32, (tokens,).
        loss_weights: float32, (tokens,): 1 for tokens that are trained on, else 0.
    """

    tokens: Tensor
    loss_weights: Tensor


def chat(
    tokenizer: str | os.PathLike[str],
    messages: Conversation,
    tools: Conversation | None = None,
    template: str | None = None,
    loss: Loss = "assistant",
    add_generation_prompt: bool = False,
    *,
    completion: Conversation | None = None,
    max_length: int | None = None,
    variables: Mapping[str, Any] | None = None,
    now: datetime.datetime | None = None,
    name: str | None = None,
) -> Chat:
    """Renders a conversation with a chat template and tokenizes it.

    The tokens and weights are the same as from `AutoTokenizer.from_pretrained(tokenizer)
    .apply_chat_template(messages, tools, return_dict=True, return_assistant_tokens_mask=True)` in
    transformers 5.

    The files are read when the function is traced. A pipeline's state includes the contents of the
    files and the options.

    Args:
        tokenizer: The path or URL of a folder to which transformers' `save_pretrained` wrote a
            tokenizer. It contains `tokenizer.json`, `tokenizer_config.json`, `chat_template.jinja`
            and perhaps `additional_chat_templates`.
        messages: A scalar string: a JSON list of dicts with `role` and `content`, as from an
            `hr.Json` column. Templates can use further keys, such as `tool_calls` and
            `reasoning_content`. If `content` is a list, its images become placeholders.
        tools: The JSON schemas of functions, as JSON text or as a list of dicts. An empty string or
            a JSON null means no tools.
        template: The name of one of the folder's templates, the path of a `.jinja` file, or the
            text of a template. By default, the main template, or the one named `tool_use` if
            `tools` is passed.
        loss: The tokens to train on. "assistant" selects the tokens in the template's `{%
            generation %}` blocks. "last" selects the tokens of the assistant's last message,
            including the token that ends the turn. "completion" selects the tokens of `completion`.
            "all" selects all tokens.
        add_generation_prompt: If True, appends the start of an answer by the assistant.
        completion: The messages that follow `messages`, if `loss` is "completion".
        max_length: The maximum number of tokens. If a conversation is longer, turns at its end are
            omitted. A turn is a user message with all messages up to the next user message. If the
            first turn is too long, the example is an error.
        variables: Additional variables for the template, such as `{"enable_thinking": False}`.
        now: The time that the template's `strftime_now` returns. By default, this is the time at
            which the pipeline starts, so batches depend on the day if a template writes the date.
        name: Name of the operation.

    Returns:
        A pair: `tokens`, int32, (tokens,), and `loss_weights`, float32, (tokens,), which is 1 for
        tokens that are trained on, else 0.

    Raises:
        InvalidArgumentError: If a file or the template is invalid, or if `loss` is "assistant" and
            the template has no `{% generation %}` blocks. When run, if the template rejects the
            conversation, such as roles out of order, if no token is trained on, or if the text is
            not a JSON list of messages.
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
        >>> template = (
        ...     "{% for m in messages %}{% if m.role == 'assistant' %}"
        ...     "{% generation %}{{ m.content }}{% endgeneration %} "
        ...     "{% else %}{{ m.content }} {% endif %}{% endfor %}"
        ... )
        >>> @hr.native
        ... def tokens(example):
        ...     return hr.ops.chat("tokenizer", example["messages"], template=template)._asdict()
        >>> turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
        >>> next(iter(hr.iterable(lambda: [{"messages": turns}]).map(tokens)))["tokens"]
        array([0, 1], dtype=int32)
    """
    folder = checked_path("chat", tokenizer, "tokenizer's folder")
    _check(loss, completion, max_length)
    files = read_folder(folder)
    template_name, source = files.template(template, tools is not None)
    content = json.dumps(
        {
            "tokenizer": files.tokenizer,
            "template": source,
            "template_name": template_name,
            "variables": {**files.variables, **(variables or {})},
            "loss": loss,
            "add_generation_prompt": bool_attr("add_generation_prompt", add_generation_prompt),
            "max_length": max_length,
            "now": None if now is None else now.replace(tzinfo=None).isoformat(),
        },
        ensure_ascii=False,
    ).encode()
    if loss == "assistant":
        _report_open_turns(folder, template_name, content)
    inputs = [
        Input(what, _as_text(what, value), dtypes.string)
        for what, value in (("messages", messages), ("tools", tools), ("completion", completion))
    ]

    def infer(*texts: Tensor) -> Outputs:
        for text, item in zip(texts, inputs, strict=True):
            if text.shape.rank not in (None, 0):
                raise ValueError(
                    f"chat: {item.name} has {text.shape.rank} axes, expected a scalar: a single "
                    "conversation, not a batch. Call chat before batch(...)."
                )
        return [(dtypes.int32, TensorShape([None])), (dtypes.float32, TensorShape([None]))]

    attrs = {"path": os.fsencode(folder), "content": content}
    return Chat(*apply_op("Chat", inputs, infer, attrs=attrs, name=name).outputs)


def _check(loss: str, completion: object, max_length: int | None) -> None:
    if loss not in _LOSSES:
        expected = ", ".join(map(repr, _LOSSES))
        raise ValueError(f"chat: loss is {loss!r}, expected one of {expected}.")
    if (loss == "completion") != (completion is not None):
        state = "without" if completion is None else "with"
        raise ValueError(
            f"chat: loss={loss!r} {state} completion=, expected both or neither. Pass "
            'loss="completion" and completion= to train a completion.'
        )
    if max_length is not None and int_attr("max_length", max_length) < 1:
        raise ValueError(f"chat: max_length is {max_length}, expected at least 1.")
    if max_length is not None and completion is not None:
        raise ValueError(
            "chat: max_length does not work with completion=, because turns are left out at the "
            "end. Use filter(...) to drop long examples."
        )


def _report_open_turns(folder: str, template_name: str, content: bytes) -> None:
    """Warns once if a template's blocks end before the token that ends a turn."""
    try:
        token = engine.untrained_end_of_turn(os.fsencode(folder), content)
    except engine.EngineError as error:
        engine.raise_op_error(error)
    place = f"{folder}: the template {template_name!r}"
    if token is not None and place not in _reported:
        _reported.add(place)
        warnings.warn(
            f"chat: {place} ends its generation block before {token}, which ends the turn. So that "
            "token is not trained, and the model may not learn to stop. Move {% endgeneration %} "
            "after it to train it.",
            stacklevel=3,
        )


def _as_text(what: str, value: Any) -> TensorLike:
    if value is None:
        return b""
    if isinstance(value, (Tensor, str, bytes, np.ndarray, np.generic)):
        return value
    return json_text(what, value)


def json_text(what: str, value: object) -> bytes:
    """Returns the JSON text of messages or tools.

    Values that JSON cannot represent, such as images, are replaced with the names of their types.
    Templates only write placeholders for such values.

    Raises:
        TypeError: If the value is not a list of dicts.
    """
    if not isinstance(value, Sequence) or not all(isinstance(item, Mapping) for item in value):
        raise TypeError(
            f"chat: {what} is {value!r:.100}, expected a list of dicts, or JSON text. Call it for "
            "one conversation at a time."
        )
    return json.dumps(value, ensure_ascii=False, default=_plain).encode()


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    return dict(value) if isinstance(value, Mapping) else f"<{type(value).__name__}>"


define("Chat", is_own=True, has_content=True)
