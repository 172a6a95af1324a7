"""Tokenizer folders with a chat template, as written by `save_pretrained`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

__all__ = ["SPECIAL", "as_text", "saved_folder", "trained_text"]

SPECIAL: Final = ["<|im_start|>", "<|im_end|>", "<s>", "</s>"]
# A template that trains the answer and the token that ends it.
TEMPLATE: Final = """\
{%- for message in messages %}
    {{- "<|im_start|>" + message.role + "\\n" }}
    {%- if message.role == "assistant" %}
        {%- generation %}
            {{- message.content + "<|im_end|>" }}
        {%- endgeneration %}
    {%- elif message.role in ("user", "system") %}
        {{- message.content + "<|im_end|>" }}
    {%- else %}
        {{- raise_exception("Unknown role: " + message.role) }}
    {%- endif %}
    {{- "\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- "<|im_start|>assistant\\n" }}
{%- endif %}
"""


def _bytes_tokenizer() -> Tokenizer:
    """One token for each byte, and special tokens."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: id for id, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL])
    return tokenizer


def saved_folder(
    folder: Path, template: str | None = TEMPLATE, config: Mapping[str, Any] | None = None
) -> Path:
    """Writes a byte tokenizer with a chat template, and returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    _bytes_tokenizer().save(str(folder / "tokenizer.json"))
    tokens = {"bos_token": "<s>", "eos_token": {"content": "</s>", "__type": "AddedToken"}}
    fields = {"tokenizer_class": "PreTrainedTokenizerFast", "added_tokens_decoder": {}, **tokens}
    text = json.dumps(fields | dict(config or {}))
    (folder / "tokenizer_config.json").write_text(text, "utf-8")
    if template is not None:
        (folder / "chat_template.jinja").write_text(template, "utf-8")
    return folder


def as_text(tokens: np.ndarray[Any, Any]) -> str:
    """Returns the text of tokens."""
    letters = {letter: byte for byte, letter in _letters().items()}
    names = dict(enumerate(sorted(letters)))
    parts = (
        bytes([letters[names[id]]]) if id in names else SPECIAL[id - len(names)].encode()
        for id in tokens.tolist()
    )
    return b"".join(parts).decode()


def trained_text(result: Any) -> list[str]:
    """Returns the texts of runs of tokens that are trained."""
    edges = np.flatnonzero(np.diff(result.loss_weights, prepend=0, append=0))
    return [as_text(result.tokens[a:b]) for a, b in edges.reshape(-1, 2)]


def _letters() -> dict[int, str]:
    """The letter that represents each byte in byte-level tokenizers."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {byte: chr(byte) for byte in shown} | {
        byte: chr(256 + index) for index, byte in enumerate(hidden)
    }
