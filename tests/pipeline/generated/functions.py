"""Functions of users, in Python and native, with their counterparts in the model.

They work on examples and on batches, and keep other components.
"""

import json
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from tests.ops.image.banded_tiffs import banded
from tests.pipeline.generated.model import Example, deep, first_of

import headrace as hr

TOKENIZER = Path(__file__).parents[2] / "ops" / "strings" / "words.json"
# Texts, with the sums of their tokens.
TEXTS = {b"": 0, b"the water": 3, b"goes on .": 12, b"The sea": 1}
CHAT_TOKENIZER = TOKENIZER.with_name("chat_tokenizer")


def _chat(*turns: str) -> bytes:
    roles = ("user", "assistant") * (len(turns) // 2)
    pairs = zip(roles, turns, strict=True)
    return json.dumps([{"role": role, "content": text} for role, text in pairs]).encode()


# Conversations, with the sums of their tokens and 10 for each one that is trained.
CHATS = {_chat("water", "goes"): 35, _chat("the", "water goes"): 46, _chat("x", "x"): 30}


def plus_one(example: Mapping[str, Any]) -> dict[str, Any]:
    return {**example, "n": example["n"] + 1}


def slow_plus_one(example: Mapping[str, Any]) -> dict[str, Any]:
    if _first(example) % 40 == 0:
        time.sleep(0.002)
    return plus_one(example)


@hr.native
def native_plus_one(example):
    return {**example, "n": example["n"] + 1}


@hr.native
def with_episode(example):
    return {**example, "episode": example["n"] // 4}


@hr.native
def native_tokens(example):
    numbers = hr.ops.reshape(example["n"] % len(TEXTS), [1])
    texts = hr.ops.gather(hr.ops.constant(list(TEXTS)), numbers)
    tokens = hr.ops.each(lambda text: hr.ops.tokenize(TOKENIZER, text), texts, join=True)
    tokens = hr.ops.cast(tokens, "int64")
    return {**example, "n": example["n"] + hr.ops.reduce_sum(tokens)}


@hr.native
def native_chat(example):
    messages = hr.ops.gather(hr.ops.constant(list(CHATS)), example["n"] % len(CHATS))
    tokens, weights = hr.ops.chat(CHAT_TOKENIZER, messages)
    total = hr.ops.reduce_sum(hr.ops.cast(tokens, "float32") + 10.0 * weights)
    return {**example, "n": example["n"] + hr.ops.cast(total, "int64")}


def chat_in_model(example: Example) -> Example:
    sums = list(CHATS.values())
    return {**example, "n": example["n"] + sums[example["n"] % len(CHATS)]}


def tokens_in_model(example: Example) -> Example:
    sums = list(TEXTS.values())
    return {**example, "n": example["n"] + sums[example["n"] % len(TEXTS)]}


def plus_one_in_model(example: Example) -> Example:
    return {**example, "n": deep(lambda n: n + 1, example["n"])}


def with_draw(example: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {**example, "draw": example["n"] * 0 + rng.integers(1000)}


@hr.native
def native_with_draw(example):
    return {**example, "draw": example["n"] * 0 + hr.ops.random_uniform([], 0, 1000, "int64")}


def _first(example: Mapping[str, Any]) -> int:
    return int(np.ravel(example["n"])[0])


def is_kept(example: Mapping[str, Any]) -> bool:
    return _first(example) % 3 != 1


@hr.native
def native_is_kept(example):
    return example["n"] % 3 != 1


def is_kept_in_model(example: Example) -> bool:
    return bool(first_of(example["n"]) % 3 != 1)


def several(example: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [example] * (int(example["n"]) % 3)


@hr.native
def native_pair(example):
    return {"n": hr.ops.stack([example["n"], example["n"] + 1000])}


def with_list(example: Mapping[str, Any]) -> dict[str, Any]:
    n = int(example["n"])
    return {**example, "list": np.arange(n, n + n % 4)}


def with_list_in_model(example: Example) -> Example:
    return {**example, "list": list(range(example["n"], example["n"] + example["n"] % 4))}


def packed_sum(row: Mapping[str, Any]) -> dict[str, Any]:
    """A checksum of the values and positions of a packed row."""
    weights = row["segment_ids"].astype(np.int64) * 7 + row["positions"] + 1
    n = int((row["list"] * weights).sum())
    for index, number in enumerate(row.get("n", ())):
        n += (index + 1) * int(number)
    if "cu_seqlens" in row:
        lengths = np.bincount(row["segment_ids"], minlength=1)[1:]
        assert row["cu_seqlens"].tolist() == [0, *np.cumsum(lengths)]
    return {"n": n}


def packed_sum_in_model(row: Example) -> Example:
    columns = zip(row["list"], row["segment_ids"], row["positions"], strict=True)
    along = sum((index + 1) * first_of(n) for index, n in enumerate(row.get("n", ())))
    return {
        "n": sum(value * (segment * 7 + index + 1) for value, segment, index in columns) + along
    }


def with_pages(example: Mapping[str, Any]) -> dict[str, Any]:
    n = int(example["n"])
    values = np.arange(n, n + n % 4)
    return {
        "n": n,
        "list": values,
        "grid": np.outer(values, [1, 2]),
        "pages": np.arange(n, n + n % 3),
    }


def pages_sum(row: Mapping[str, Any]) -> dict[str, Any]:
    """A checksum of a packed row with arrays of two axes and a list of each example."""
    n = int((row["list"] * (row["segment_ids"] * 7 + row["positions"] + 1)).sum())
    n += int((row["grid"] * (row["positions"][:, None] + 1)).sum())
    for index, (start, end) in enumerate(pairwise(row["pages.offsets"])):
        n += (index + 1) * int(row["pages.values"][start:end].sum())
    return {"n": n}


def pages_sum_in_model(row: Example) -> Example:
    columns = zip(row["list"], row["segment_ids"], row["positions"], strict=True)
    pages = (sum(range(n, n + n % 3)) for n in row["n"])
    weighted = (value * (7 * segment + 4 * (index + 1)) for value, segment, index in columns)
    return {"n": sum(weighted) + sum(index * number for index, number in enumerate(pages, 1))}


def with_group(example: Mapping[str, Any]) -> dict[str, Any]:
    values = with_group_in_model(example)
    return {name: np.asarray(value, np.int64) for name, value in values.items()}


def with_group_in_model(example: Mapping[str, Any]) -> Example:
    n = int(example["n"])
    bits = [n // 3 % 2, n // 6 % 3, n // 5 % 2, 1]
    return {"n": n, "list": bits[: n % 5], "group": n % 3}


def tree_sum(tree: Mapping[str, Any]) -> dict[str, Any]:
    """A checksum of the size of a tree and of the lists that it was made of."""
    ends, n = np.cumsum(tree["node_lengths"]), 1000 * len(tree["list"])
    for index, (leaf, number) in enumerate(zip(tree["leaf_of"], tree["n"], strict=True), 1):
        n, node = n + index * int(number), leaf
        while node != -1:
            part = slice(ends[node] - tree["node_lengths"][node], ends[node])
            n += index * int(((tree["list"][part] + 1) * (tree["positions"][part] + 1)).sum())
            node = tree["parents"][node]
    return {"n": n}


def tree_sum_in_model(tree: list[Example], num_elements: int) -> Example:
    n = 1000 * num_elements
    for index, example in enumerate(tree, 1):
        values = enumerate(example["list"], 1)
        n += index * (example["n"] + sum((value + 1) * position for position, value in values))
    return {"n": n}


def joined_sum(batch: Mapping[str, Any]) -> dict[str, Any]:
    """The number of each example and the sum of its list, which is joined to others."""
    values, offsets = batch["list.values"], batch["list.offsets"]
    sums = [int(values[start:end].sum()) for start, end in pairwise(offsets)]
    mask = {"mask": batch["mask"]} if "mask" in batch else {}
    return {"n": batch["n"] + np.asarray(sums, np.int64), **mask}


def with_grid(example: Mapping[str, Any]) -> dict[str, Any]:
    n = int(example["n"])
    return {"n": n, "grid": np.full((n % 3, n % 4), n)}


def grid_sum(batch: Mapping[str, Any]) -> dict[str, Any]:
    """The number of each example and a checksum of its grid, padded in two axes."""
    rows, columns = batch["grid"].shape[1:]
    weights = np.arange(1, rows + 1)[:, None] * 10 + np.arange(columns)
    mask = {"mask": batch["mask"]} if "mask" in batch else {}
    return {"n": batch["n"] + (batch["grid"] * weights).sum((1, 2)), **mask}


def grid_sums_in_model(
    group: list[Example], multiples: tuple[int, int], fill: int
) -> tuple[list[Example], int]:
    """Returns what `grid_sum` makes of each example, and the number of an example of padding."""
    rows, columns = (
        -(-max(example["n"] % size for example in group) // multiple) * multiple
        for size, multiple in zip((3, 4), multiples, strict=True)
    )

    def total(n: int) -> int:
        return n + sum(
            (n if row < n % 3 and column < n % 4 else fill) * ((row + 1) * 10 + column)
            for row in range(rows)
            for column in range(columns)
        )

    # The grid of 0 is empty.
    return [{"n": total(example["n"])} for example in group], total(0)


def failing(example: Mapping[str, Any]) -> Mapping[str, Any]:
    if _first(example) % 13 == 5:
        raise LookupError(f"{_first(example)}")
    return example


@hr.native
def native_failing(example):
    # The index is out of range for every 11th example.
    return {**example, "n": hr.ops.gather(np.zeros(10, int), example["n"] % 11) + example["n"]}


def fails_in_model(example: Example) -> bool:
    return bool(first_of(example["n"]) % 13 == 5)


def native_fails_in_model(example: Example) -> bool:
    return bool(example["n"] % 11 == 10)


class Counting:
    """A function with a state: the number of its calls, as a component or added to the number."""

    def __init__(self, is_added: bool = False) -> None:
        self.calls = 0
        self.is_added = is_added

    def __call__(self, example: Mapping[str, Any]) -> dict[str, Any]:
        self.calls += 1
        if self.is_added:
            return {**example, "n": example["n"] + self.calls}
        return {**example, "calls": example["n"] * 0 + self.calls}

    def state(self) -> int:
        return self.calls

    def restore(self, state: int) -> None:
        self.calls = state


def _picture(height: int, width: int) -> Any:
    """A PNG file of an image of this shape."""

    @hr.native
    def encoded(example: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"file": hr.ops.encode_png(example["image"])}

    return encoded({"image": np.zeros((height, width, 3), np.uint8)})["file"]


# The shapes of buckets, and a picture of each shape: as it is, and turned by its orientation.
BUCKETS = [(4, 8), (4, 4), (8, 4)]
PICTURES = [_picture(*shape) for shape in BUCKETS]
TURNED = [
    banded(np.zeros((*shape[::-1], 3), np.uint8), photometric=2, tags={274: ("H", [6])})
    for shape in BUCKETS
]


def with_picture(example: Example) -> Example:
    """Adds a picture whose shape depends on the number."""
    return {"n": example["n"], "image": PICTURES[example["n"] % len(PICTURES)]}


def with_turned_picture(example: Example) -> Example:
    """Adds a picture whose shape, once it is upright, depends on the number."""
    return {"n": example["n"], "image": TURNED[example["n"] % len(TURNED)]}
