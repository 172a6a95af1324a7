"""Random conversations with tools, reasoning, pictures and unusual characters."""

from __future__ import annotations

from random import Random
from typing import Any, Final

__all__ = ["conversation", "tools"]

_WORDS: Final = [
    *("water", "goes", "on", "the", "sea", "don't", "3,14", "10.5", "x=1", "a's", '"quoted"'),
    *("C:\\path", "<b>&amp;</b>", "{x}", "{{y}}", "{%z%}", "über", "Äcker", "Река", "水は流れ"),
    *("नदी", "الماء", "👩‍👩‍👧‍👦", "🏳️‍🌈", "e\u0301", "ﬁ", "½", "\u200b", "\ufeff", "\u2028", "\x1c"),
    *("\x85", "\xa0", "\x00", "\x7f", "<think>", "</think>", "<|im_end|>", "<|end|>"),
    *("<tool_call>", "</tool_call>", "<image>", "[INST]", "</s>", "\n", "\n\n", "\t", "  "),
    *(" \n ", "'", '"', "\\n", "\ufdd0", "\U0010ffff", "İ", "ß", "ǆ"),
]
_NAMES: Final = ["get_weather", "add", "search", "wetter_größe", "a.b", "items"]
_KINDS: Final = ["string", "integer", "number", "boolean", "array", "object", "null"]


def text(random: Random, most: int = 12) -> str:
    """Returns words. Some of them have a meaning in templates."""
    words = [random.choice(_WORDS) for _ in range(random.randint(0, most))]
    return random.choice(["", " "]).join(words)


def value(random: Random, depth: int = 2) -> Any:
    """Returns a JSON value."""
    kind = random.randrange(9 if depth else 7)
    if kind == 7:
        return [value(random, depth - 1) for _ in range(random.randint(0, 3))]
    if kind == 8:
        return {text(random, 2): value(random, depth - 1) for _ in range(random.randint(0, 3))}
    number = random.choice([0, 1, -7, 10**12, 2**63 - 1])
    fraction = random.choice([0.5, -1.0, 1e-7, 3.14, 1e16, 1.5e15, 0.0001, 123456789.123])
    return [text(random, 4), text(random, 1), number, fraction, True, False, None][kind]


def tools(random: Random) -> list[dict[str, Any]] | None:
    """Returns function schemas, or None in half of the cases."""
    if random.random() < 0.5:
        return None
    return [_tool(random) for _ in range(random.randint(1, 3))]


def _schema(random: Random, depth: int = 2) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": random.choice(_KINDS if depth else _KINDS[:4])}
    if random.random() < 0.7:
        schema["description"] = text(random, 5)
    if random.random() < 0.2:
        schema["enum"] = ["a", "b c", "ü"]
    if random.random() < 0.1:
        schema["default"] = value(random, 1)
    if random.random() < 0.1:
        schema["nullable"] = random.random() < 0.5
    if schema["type"] == "array":
        schema["items"] = _schema(random, depth - 1)
    if schema["type"] == "object":
        schema["properties"] = {
            name: _schema(random, depth - 1) for name in random.sample(_NAMES, 2)
        }
        schema["required"] = random.sample(list(schema["properties"]), random.randint(0, 2))
    return schema


def _tool(random: Random) -> dict[str, Any]:
    names = random.sample(_NAMES, random.randint(0, 3))
    parameters: dict[str, Any] = {
        "type": "object",
        "properties": {name: _schema(random) for name in names},
    }
    if random.random() < 0.7:
        parameters["required"] = names[:1]
    function = {
        "name": random.choice(_NAMES),
        "description": text(random, 6),
        "parameters": parameters,
    }
    if random.random() < 0.1:
        function["return"] = _schema(random, 1)
    return {"type": "function", "function": function}


def _content(random: Random, share_of_lists: float) -> Any:
    if random.random() >= share_of_lists:
        return text(random)
    parts: list[dict[str, Any]] = []
    for _ in range(random.randint(1, 3)):
        kind = random.choice(["text", "text", "image", "video"])
        parts.append({"type": "text", "text": text(random)} if kind == "text" else {"type": kind})
    # Some templates read the text of the first part.
    return (
        sorted(parts, key=lambda part: part["type"] != "text") if random.random() < 0.7 else parts
    )


def _assistant(random: Random, has_tools: bool, share_of_lists: float) -> dict[str, Any]:
    content = _content(random, share_of_lists)
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if isinstance(content, str) and random.random() < 0.2:
        message["content"] = f"<think>{text(random)}</think>{text(random)}"
    if random.random() < 0.3:
        message[random.choice(["reasoning_content", "thinking", "reasoning"])] = text(random)
    if has_tools:
        message["tool_calls"] = []
        for number in range(random.randint(1, 2)):
            arguments = {random.choice(_NAMES): value(random) for _ in range(random.randint(0, 3))}
            function = {"name": random.choice(_NAMES), "arguments": arguments}
            message["tool_calls"].append(
                {"id": f"call{number:05}", "type": "function", "function": function}
            )
        if random.random() < 0.5:
            message["content"] = random.choice(["", None])
    return message


def conversation(random: Random) -> list[dict[str, Any]]:
    """Returns messages, with tool calls and their results in a third of the cases.

    Some conversations have a wrong order of roles.
    """
    share_of_lists = random.choice([0.0, 0.0, 0.4, 1.0])
    messages: list[dict[str, Any]] = []
    if random.random() < 0.4:
        role = "developer" if random.random() < 0.1 else "system"
        messages.append({"role": role, "content": _content(random, share_of_lists)})
    for _ in range(random.randint(1, 3)):
        messages.append({"role": "user", "content": _content(random, share_of_lists)})
        if random.random() < 0.35:
            call = _assistant(random, True, 0.0)
            messages.append(call)
            for used in call["tool_calls"]:
                result = {"role": "tool", "name": used["function"]["name"], "content": text(random)}
                messages.append(result | {"tool_call_id": used["id"]})
        messages.append(_assistant(random, False, share_of_lists))
    if random.random() < 0.05:
        random.shuffle(messages)
    return messages
