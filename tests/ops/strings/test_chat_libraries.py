"""Tokens and masks of conversations, compared with transformers for the templates of TRL."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.ops.strings import random_chats
from tests.ops.strings.chat_folders import SPECIAL, as_text, saved_folder

pytest.importorskip("trl")
pytest.importorskip("transformers")

import transformers
import trl
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, trainers
from trl.trainer.sft_trainer import common_prefix_length

import headrace as hr

TEMPLATES = sorted((Path(trl.__file__).parent / "chat_templates").glob("*.jinja"))
TRAINING = [path for path in TEMPLATES if "endgeneration" in path.read_text("utf-8")]
# Expressions that templates use, of the messages below and names that they set.
EXPRESSIONS = [
    *("m", "m[0]", "m[-1]['content']", "m[0].content[1:3]", "m[::-1]", "m[1:] | length", "true"),
    *("none", "1.0", "1e20", "0.00001", "2 ** 70", "7 // 2", "-7 % 3", "1 / 3", "'a' ~ 1.5"),
    *("'a' ~ none ~ true ~ [1, 'x']", "x is defined", "none is iterable", "'a' is iterable"),
    *("'a' is sequence", "{} is sequence", "{} is mapping", "1 is number", "true is number"),
    *("true is boolean", "1 is integer", "true is integer", "1.5 is float", "v.f is float", "v"),
    *("v.f", "v.s", "v | tojson", "v | tojson(indent=2)", "v | tojson(ensure_ascii=true)"),
    *("v | tojson(separators=(',', ':'))", "v | tojson(sort_keys=true)", "[] | tojson(indent=1)"),
    *("v.items() | list", "v.keys() | list", "v | dictsort", "v | items | list", "v | string"),
    *("v.get('s')", "v.get('x')", "v.get('x', 5)", "v.x | default('d')"),
    *("'' | default('d', true)", "' a\\x1cb\\n'.strip()", "'\\x1ca\\x85' | trim"),
    *("'xxaxx'.strip('x')", "'a b  c'.split()", "'a,b,,c'.split(',')", "'a,b,c'.split(',', 1)"),
    *("'a,b,c'.rsplit(',', 1)", "'a b c'.split(none, 1)", "'abc'.startswith('ab')"),
    *("'abc'.endswith(('c', 'd'))", "'a\\r\\nb\\x0bc'.splitlines()", "'aXb'.lower()"),
    *("'ǆ ß'.upper()", "'hELLO wORLD'.capitalize()", "'hello world'.title()"),
    *("'abc'.replace('b', '')", "'abcb'.replace('b', 'x', 1)", "'abc'.find('c')"),
    *("'a-b'.partition('-')", "'xab'.removeprefix('x')", "'ab' in 'xaby'", "'q' not in {'q': 1}"),
    *("'{}-{}'.format(1, 'a')", "','.join(['a', 'b'])", "[1, 2] | join('-')", "['b', 'a'] | sort"),
    *("[1, [2]] | string", "m | selectattr('role', 'equalto', 'user') | list | length"),
    *("m | map(attribute='role') | list", "m | map(attribute='role') | join(', ')"),
    *("m | rejectattr('role', 'equalto', 'user') | list", "range(3) | list", "'abc' | reverse"),
    *("'abc' | first", "[1, 2] | last", "'5' | int + 1", "m[7] is defined", "m[0].x is none"),
    *("m[0]['x'] is undefined", "(1, 'a')", "[1, 2] + [3]", "'a' * 3", "1 if x else 2"),
    *("[x is not none and 1, 2]", "{'b': 1, 'a': [none]}", "v.s | upper", "'<b>' | escape"),
    *("'a\\'b'", "[\"it's\", 'q\"', '\\u200b\\xa0é']", "{1: 2}", "'%s' | format(3)", "dict(a=1)"),
    *("namespace(a=1).a", "1.234 | round(2)", "[3, 1] | max", "'a\nb' | indent(2)"),
    *("[1, 2, 1] | unique | list", "'x' | length", "'%.2f' | format(1.5)", "m | length > 1"),
    *("{'{': 1, 'İ': 2, 'Ä': 3, 'ä': 4, 'Z': 5, 'ß': 6, 'ss': 7, 'ﬁ': 8, 'ΑΣ': 9} | dictsort",),
    *("{'b': 1, 'A': 1, 'B': 0} | dictsort(true)", "{'b': 1, 'a': 'X'} | dictsort(reverse=true)"),
    *("{'b': 1, 'a': 2} | dictsort(by='value')", "{'b': 'ß', 'a': 'S'} | dictsort(false, 'value')"),
    *("['Ö', 'z', 'ö', '\u017f', 's'] | sort", "['Ö', 'z', 'ö'] | sort(true, true)", "v | sort"),
    *("m | sort(attribute='role') | map(attribute='role') | list", "[v.f, 2, true, 0] | sort"),
    *("[['b', 1], ['B', 0], ['a', 2]] | sort(attribute='0,1')", "[[2], [1]] | sort(attribute=0)"),
    *("['a', 'Ä', 'B', 'ä'] | max", "['b', 'Ä', 'A', 'a'] | min", "[3, v.f] | min", "[] | max"),
    *("m | max(attribute='role')", "['Ä', 'ä', 'ß', 'SS'] | unique | list"),
]  # fmt: skip
BLOCKS = [
    "{% for a in m %}{{ loop.index }}{{ loop.first }}{{ loop.previtem is defined }}\n{% endfor %}",
    "{% for a in m if a.role == 'user' %}{{ a.role }}{% else %}none{% endfor %}",
    "{% for a in m %}{% if loop.index == 2 %}{% break %}{% endif %}{{ loop.index }}{% endfor %}",
    "{% for a in m %}{% if loop.first %}{% continue %}{% endif %}{{ loop.index }}{% endfor %}",
    "{% for k, w in v.items() %}{{ k }}={{ w }};{% endfor %}",
    "  {% if true %}\n  a\n  {% endif %}\n b\n",
    "  {%+ if true +%}\n  a\n  {%- endif -%}\n b\n\n",
    "{% set ns = namespace(n=0) %}{% for a in m %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
    "{% macro f(a, b='x') %}[{{ a }}{{ b }}]{% endmacro %}{{ f(1) }}{{ f(1, b=2) }}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set x %} c {% endset %}{{ x }}|",
    "{% filter upper %}abc{% endfilter %}{# comment #}{%- raw %} {{ x }} {% endraw %}",
    "{% set a = 1 %}{% for i in range(2) %}{% set a = 2 %}{% endfor %}{{ a }}",
    "{% with a = 3 %}{{ a }}{% endwith %}{{ a }}",
    "{{ m[0].role -}}   \n  x {{- m[0].role }}",
]
MESSAGES = [
    {"role": "system", "content": "sys tem"},
    {"role": "user", "content": ["it's", 'a "q"', "é\u200b\xa0"]},
]
VALUE = {
    "s": "a é\n\x7f\u2028\U0001f44d",
    "f": 1e-7,
    "n": None,
    "b": [True, 1.5, 1e16, {}],
    "A": {"z": 1},
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[Path, Path]:
    """A tokenizer for each template: byte-level BPE with the special tokens that it writes."""
    directory = tmp_path_factory.mktemp("templates")
    tokens = sorted({token for path in TEMPLATES for token in _special_tokens(path)})
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=1500,
        special_tokens=[*SPECIAL, *(token for token in tokens if token not in SPECIAL)],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    draws = Random(0)
    texts = [json.dumps(random_chats.conversation(draws), ensure_ascii=False) for _ in range(300)]
    tokenizer.train_from_iterator(texts, trainer)
    for token in ("<think>", "</think>", "<image>"):
        tokenizer.add_tokens([AddedToken(token, special=False, normalized=False)])
    folders = {}
    for path in TEMPLATES:
        folder = saved_folder(directory / path.stem, path.read_text("utf-8"))
        tokenizer.save(str(folder / "tokenizer.json"))
        folders[path] = folder
    return folders


def _special_tokens(path: Path) -> list[str]:
    return re.findall(r"<[|\uff5c][\w▁.-]+[|\uff5c]>|<\w+_of_\w+>", path.read_text("utf-8"))


def requested(tokenizer: Any, messages: Any, tools: Any, **options: Any) -> Any:
    """Returns transformers' tokens and mask; None if the template rejects the conversation."""
    try:
        result = tokenizer.apply_chat_template(
            messages, tools, return_dict=True, return_assistant_tokens_mask=True, **options
        )
    except Exception:
        return None
    return result["input_ids"], result["assistant_masks"]


def rendered(tokenizer: Any, messages: Any, tools: Any, adds_prompt: bool) -> Any:
    """The tokens of transformers, or the exception."""
    try:
        return tokenizer.apply_chat_template(
            messages, tools, add_generation_prompt=adds_prompt, return_dict=True
        )["input_ids"]
    except Exception as error:
        return error


@pytest.mark.timeout(6000)
@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in TRAINING])
def test_tokens_and_masks_match_transformers(folders, path, is_nightly, tmp_path):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders[path])
    draws = Random(str(path.stem))
    rows = []
    for _ in range(10_000 if is_nightly else 100):
        messages, tools = random_chats.conversation(draws), random_chats.tools(draws)
        expected = requested(tokenizer, messages, tools)
        if expected is not None and 1 in expected[1]:
            rows.append((messages, tools, expected))
    lines = (json.dumps({"messages": m, "tools": t}) + "\n" for m, t, _ in rows)
    (tmp_path / "chat.jsonl").write_text("".join(lines), "utf-8")

    @hr.native
    def render(example):
        return hr.ops.chat(folders[path], example["messages"], example["tools"])._asdict()

    pipe = hr.json_lines(tmp_path / "chat.jsonl", {"messages": hr.Json, "tools": hr.Json}).map(
        render
    )
    num_trained = 0
    for example, (messages, _, (ids, mask)) in zip(pipe, rows, strict=True):
        assert example["tokens"].tolist() == ids, messages
        assert example["loss_weights"].tolist() == mask, messages
        num_trained += sum(mask)
    assert num_trained > 0


@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in TEMPLATES])
def test_rejected_conversations_and_prompts_match_transformers(folders, path, is_nightly):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders[path])
    draws = Random(0)
    for _ in range(1000 if is_nightly else 15):
        messages, tools = random_chats.conversation(draws), random_chats.tools(draws)
        adds_prompt = draws.random() < 0.5
        expected = rendered(tokenizer, messages, tools, adds_prompt)
        if isinstance(expected, Exception):
            with pytest.raises(hr.errors.InvalidArgumentError) as caught:
                hr.chat(folders[path], messages, tools, None, "all", adds_prompt)
            is_raised_by_template = type(expected).__name__ == "TemplateError"
            assert not is_raised_by_template or str(expected) in str(caught.value)
        elif expected:
            result = hr.chat(folders[path], messages, tools, None, "all", adds_prompt)
            assert result.tokens.tolist() == expected, messages


@pytest.mark.parametrize("text", [f"{{{{ {expression} }}}}" for expression in EXPRESSIONS] + BLOCKS)
def test_templates_render_as_in_jinja2(tmp_path_factory, text):
    folder = saved_folder(tmp_path_factory.getbasetemp() / "jinja")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    # Transformers accepts an empty text, but an example needs a token.
    template = "{% set m = messages %}" + text + "!"
    expected = tokenizer.apply_chat_template(
        MESSAGES, chat_template=template, tokenize=False, v=VALUE
    )
    variables = {"v": VALUE}
    result = hr.chat(folder, MESSAGES, template=template, loss="all", variables=variables)
    assert as_text(result.tokens) == expected


def test_completions_match_trl(folders):
    for name in ("qwen3", "llama3", "phi3", "gemma"):
        path = next(path for path in TEMPLATES if path.stem == name)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folders[path])
        draws = Random(name)
        for _ in range(100):
            prompt = [{"role": "user", "content": random_chats.text(draws)}]
            answer = [{"role": "assistant", "content": random_chats.text(draws)}]
            before = tokenizer.apply_chat_template(
                prompt, add_generation_prompt=True, return_dict=True
            )["input_ids"]
            ids = tokenizer.apply_chat_template(prompt + answer, return_dict=True)["input_ids"]
            start = common_prefix_length(before, ids)
            for result in (
                hr.chat(folders[path], prompt, completion=answer, loss="completion"),
                hr.chat(folders[path], prompt + answer, loss="last"),
            ):
                assert result.tokens.tolist() == ids
                assert np.flatnonzero(result.loss_weights).tolist() == [*range(start, len(ids))]
