"""Tokenizer folders, as written by `save_pretrained` in transformers."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from headrace.core.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError
from headrace.io import storage

__all__ = ["TokenizerFolder", "checked_path", "file_names", "read_folder", "tokenizer_json"]

_CONFIG: Final = "tokenizer_config.json"
_TEMPLATE: Final = "chat_template.jinja"
_TEMPLATES: Final = "additional_chat_templates"
_TEMPLATE_ENDING: Final = ".jinja"
# The special tokens of every transformers tokenizer.
_SPECIAL: Final = re.compile(r"\b(?:bos|eos|unk|sep|pad|cls|mask)_token\b")


@dataclass(frozen=True)
class TokenizerFolder:
    """The content of a tokenizer folder.

    Attributes:
        path: The folder.
        tokenizer: The text of `tokenizer.json`.
        templates: The chat templates by name. The main template is named "default".
        variables: The special tokens by name, such as `eos_token`.
        has_config: Whether the folder has a `tokenizer_config.json`.
    """

    path: str
    tokenizer: str
    templates: Mapping[str, str]
    variables: Mapping[str, str]
    has_config: bool

    def template(self, requested: str | None, has_tools: bool) -> tuple[str, str]:
        """Returns the name and the text of a template, chosen as in transformers.

        Args:
            requested: The name of a template in this folder, the path of a `.jinja` file or the
                text of a template. None for the main template.
            has_tools: Whether the conversations may have tools.

        Raises:
            InvalidArgumentError: If the template uses special tokens and the folder has no
                `tokenizer_config.json`.
            NotFoundError: If there is no such template.
        """
        name, text = self._template(requested, has_tools)
        token = None if self.has_config else _SPECIAL.search(text)
        if token is not None:
            raise InvalidArgumentError(
                None,
                None,
                f"chat: {self.path}: the template {name!r} uses {token[0]}, but there is no "
                f"{_CONFIG}, which contains it. Save the tokenizer with save_pretrained(folder).",
            )
        # As Jinja does.
        return name, text.replace("\r\n", "\n").replace("\r", "\n")

    def _template(self, requested: str | None, has_tools: bool) -> tuple[str, str]:
        if requested is None:
            requested = "tool_use" if has_tools and "tool_use" in self.templates else "default"
        if requested in self.templates:
            return requested, self.templates[requested]
        if "{%" in requested or "{{" in requested:
            return "template=", requested
        if requested.endswith(_TEMPLATE_ENDING) and storage.exists(requested):
            return requested, _read(requested)
        names = ", ".join(map(repr, sorted(self.templates)))
        if not names:
            remedy = f"Save the tokenizer with its template as {_TEMPLATE}, or pass template=."
        elif requested == "default":
            remedy = f"Pass template= with one of these names: {names}."
        else:
            remedy = f"Its templates are {names}. Pass one of these, or the path of a .jinja file."
        raise NotFoundError(
            None,
            None,
            f"chat: {self.path}: the tokenizer has no chat template {requested!r}. {remedy}",
        )


def checked_path(op: str, path: object, what: str) -> str:
    """Returns the path of a tokenizer.

    Raises:
        TypeError: If the value is not a path.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"{op}: tokenizer is a {type(path).__name__}, expected the path of a {what}. Save the "
            "tokenizer with tokenizer.save(path), or save_pretrained(folder) in transformers, and "
            "pass the path."
        )
    return os.fsdecode(path)


def tokenizer_json(op: str, path: str) -> bytes:
    """Returns the content of a `tokenizer.json`.

    Raises:
        OpError: If the file cannot be read.
    """
    if storage.is_directory(path):
        raise FailedPreconditionError(
            None,
            None,
            f"{op}: {path}: this is a directory, expected a tokenizer.json. Pass the path "
            "of the file in it.",
        )
    if not storage.exists(path):
        raise NotFoundError(
            None,
            None,
            f"{op}: {path}: no such file. Pass the path of a tokenizer.json, "
            "which you can save with Tokenizer.save(path) in tokenizers. The name of a model "
            "on the Hugging Face hub is not a path.",
        )
    with storage.open_file(path) as file:
        return file.read()


def file_names(folder: str) -> list[str]:
    """Returns the paths of the files that `read_folder` may read."""
    names = ["tokenizer.json", _CONFIG, "special_tokens_map.json", _TEMPLATE, "chat_template.json"]
    extra = os.path.join(folder, _TEMPLATES)
    entries = storage.entries(extra) if storage.is_directory(extra) else []
    return [
        *(os.path.join(folder, name) for name in names),
        *sorted(entry.path for entry in entries if entry.path.endswith(_TEMPLATE_ENDING)),
    ]


def read_folder(folder: str) -> TokenizerFolder:
    """Reads the folder of a tokenizer.

    Raises:
        InvalidArgumentError: If one of the files is invalid.
        NotFoundError: If the folder does not exist, or contains no `tokenizer.json`.
    """
    if not storage.is_directory(folder):
        raise NotFoundError(
            None,
            None,
            f"chat: {folder}: no such folder. Pass the folder where you saved a tokenizer "
            "with transformers' save_pretrained(). The name of a model on the Hugging Face hub is "
            "not a path.",
        )
    tokenizer, config_file, special_file, *template_files = file_names(folder)
    text = _text(tokenizer, tokenizer_json("chat", tokenizer))
    has_config = storage.exists(config_file)
    config = _json(config_file) if has_config else {}
    if "added_tokens_decoder" not in config and storage.exists(special_file):
        config = {**config, **_json(special_file)}
    return TokenizerFolder(
        folder, text, _templates(config, template_files), _variables(config), has_config
    )


def _templates(config: dict[str, Any], files: list[str]) -> dict[str, str]:
    main, of_processor, *extra = files
    found = {_name(path): _read(path) for path in extra}
    if storage.exists(main):
        found["default"] = _read(main)
    if found:
        return found
    saved = config.get("chat_template")
    if saved is None and storage.exists(of_processor):
        saved = _json(of_processor).get("chat_template")
    if isinstance(saved, list):
        return {template["name"]: template["template"] for template in saved}
    return {} if saved is None else {"default": saved}


def _variables(config: dict[str, Any]) -> dict[str, str]:
    named = [config.get("model_specific_special_tokens"), config.get("extra_special_tokens")]
    more = [tokens for tokens in named if isinstance(tokens, dict)]
    values = {name: value for name, value in config.items() if name.endswith("_token")}
    for tokens in more:
        values |= tokens
    contents = {
        name: value["content"] if isinstance(value, dict) else value
        for name, value in values.items()
    }
    return {name: value for name, value in contents.items() if isinstance(value, str)}


def _name(path: str) -> str:
    return os.path.basename(path).removesuffix(_TEMPLATE_ENDING)


def _read(path: str) -> str:
    with storage.open_file(path) as file:
        return _text(path, file.read())


def _text(path: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(
            None, None, f"chat: {path}: this is not UTF-8 text: {error}. Save the file again."
        ) from None


def _json(path: str) -> dict[str, Any]:
    try:
        value = json.loads(_read(path))
    except ValueError as error:
        raise InvalidArgumentError(
            None, None, f"chat: {path}: this is not valid JSON: {error}. Save the tokenizer again."
        ) from None
    if not isinstance(value, dict):
        raise InvalidArgumentError(
            None,
            None,
            f"chat: {path}: this is a JSON {type(value).__name__}, expected an object. Save the "
            "tokenizer again.",
        )
    return value
