"""Conversations as tokens and weights."""

import datetime
import json
import re
import warnings

import numpy as np
import pytest
from tests.ops.strings.chat_folders import TEMPLATE, as_text, saved_folder, trained_text

import headrace as hr

TURNS = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Größe?"},
    {"role": "assistant", "content": "7 µm 👍"},
    {"role": "user", "content": "Sure?"},
    {"role": "assistant", "content": "Yes."},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved_folder(tmp_path_factory.mktemp("tokenizer"))


def written(path, conversations, **columns):
    rows = [
        {"messages": messages, **{name: values[n] for name, values in columns.items()}}
        for n, messages in enumerate(conversations)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def chats(path, folder, **options):
    """A pipeline of the conversations of a file."""

    @hr.native
    def render(example):
        return hr.ops.chat(folder, example["messages"], **options)._asdict()

    return hr.json_lines(path).map(render)


def test_answers_are_trained_including_their_end_tokens(folder):
    result = hr.chat(folder, TURNS)
    assert (result.tokens.dtype, result.loss_weights.dtype) == (np.int32, np.float32)
    assert as_text(result.tokens) == "".join(
        f"<|im_start|>{turn['role']}\n{turn['content']}<|im_end|>\n" for turn in TURNS
    )
    assert trained_text(result) == ["7 µm 👍<|im_end|>", "Yes.<|im_end|>"]


def test_pipelines_return_the_same_tokens_as_the_plain_function(folder, tmp_path):
    conversations = [TURNS[:3], TURNS[1:], TURNS] * 20
    path = written(tmp_path / "chat.jsonl", conversations)
    for example, messages in zip(chats(path, folder), conversations, strict=True):
        plain = hr.chat(folder, messages)
        assert example["tokens"].tolist() == plain.tokens.tolist()
        assert example["loss_weights"].tolist() == plain.loss_weights.tolist()


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("last", ["Yes.<|im_end|>\n"]),
        ("assistant", ["7 µm 👍<|im_end|>", "Yes.<|im_end|>"]),
    ],
)
def test_loss_chooses_the_trained_messages(folder, loss, expected):
    assert trained_text(hr.chat(folder, TURNS, loss=loss)) == expected


def test_all_tokens_can_be_trained(folder):
    assert hr.chat(folder, TURNS, loss="all").loss_weights.tolist() == [1.0] * len(
        hr.chat(folder, TURNS).tokens
    )


def test_last_answer_is_trained_even_if_messages_follow(folder):
    result = hr.chat(folder, [*TURNS, {"role": "user", "content": "Yes?"}], loss="last")
    assert trained_text(result) == ["Yes.<|im_end|>\n"]


def test_whole_completion_is_trained(folder):
    result = hr.chat(folder, TURNS[:2], completion=TURNS[2:], loss="completion")
    assert as_text(result.tokens) == as_text(hr.chat(folder, TURNS).tokens)
    (text,) = trained_text(result)
    assert text.startswith("7 µm 👍<|im_end|>\n<|im_start|>user\nSure?")


def test_generation_prompt_is_appended(folder):
    result = hr.chat(folder, TURNS[:2], loss="all", add_generation_prompt=True)
    assert as_text(result.tokens).endswith("Größe?<|im_end|>\n<|im_start|>assistant\n")


def test_error_names_a_template_without_blocks(tmp_path):
    folder = saved_folder(tmp_path, "{% for m in messages %}{{ m.content }}{% endfor %}")
    text = rf"chat: {folder}: the template 'default' has no {{% generation %}} blocks"
    with pytest.raises(hr.errors.InvalidArgumentError, match=re.escape(text)):
        hr.chat(folder, TURNS)
    assert trained_text(hr.chat(folder, TURNS, loss="last")) == ["Yes."]


@pytest.mark.parametrize(
    "text",
    [
        "{# {% generation %} #}{{ messages[0].content }}",
        "{{ '{% generation %}' }}{{ messages[0].content }}",
        "{% raw %}{% generation %}{% endgeneration %}{% endraw %}",
    ],
)
def test_text_that_looks_like_a_block_is_plain_text(tmp_path, text):
    with pytest.raises(hr.errors.InvalidArgumentError, match=r"has no \{% generation %\} blocks"):
        hr.chat(saved_folder(tmp_path), TURNS, template=text)


@pytest.mark.parametrize(
    ("template", "trained"),
    [
        ("a {%- generation -%} b {%- endgeneration -%} c", ["b"]),
        ("a {% generation %} b {% endgeneration %} c", [" b "]),
        ("a\n  {% generation %}\n b\n  {% endgeneration %}\n c", [" b\n"]),
        ("a\n  {%+ generation +%}\n b\n  {%+ endgeneration +%}\n c", ["\n b\n  "]),
        (
            "{% for x in [1, 2] %}a{% generation %}{{ x }}{% endgeneration %}{% endfor %}",
            ["1", "2"],
        ),
        (
            "{% set n = namespace(i=0) %}{% generation %}{% set n.i = 7 %}{% endgeneration %}"
            "{% generation %}{{ n.i }}{% endgeneration %}",
            ["7"],
        ),
        ("{% set x = 1 %}{% generation %}{% set x = 2 %}b{% endgeneration %}{{ x }}", ["b"]),
        (
            "{% macro f(x) %}a{% generation %}{{ x }}{% endgeneration %}c{% endmacro %}"
            "{{ f('é') }}{{ f('y') }}",
            ["é", "y"],
        ),
        ("{% set s %} a {% generation %}b{% endgeneration %} {% endset %}{{ s | trim }}", ["b"]),
        ("{% filter upper %}a{% generation %}b{% endgeneration %}{% endfilter %}", ["B"]),
        ("a{% generation %}b{% generation %}c{% endgeneration %}{% endgeneration %}e", ["bc"]),
        ("é{% generation %}{% endgeneration %}a{% generation %}b{% endgeneration %}", ["b"]),
    ],
)
def test_blocks_are_found_anywhere_in_a_template(tmp_path, template, trained):
    assert trained_text(hr.chat(saved_folder(tmp_path), TURNS, template=template)) == trained


def test_names_set_in_a_block_are_local(tmp_path):
    template = "{% set x = 1 %}{% generation %}{% set x = 2 %}{{ x }}{% endgeneration %}{{ x }}"
    assert as_text(hr.chat(saved_folder(tmp_path), TURNS, template=template).tokens) == "21"


def test_captured_block_that_the_template_changes_is_an_error(tmp_path):
    template = "{% set s %}{% generation %} b {% endgeneration %}{% endset %}{{ s | trim }}"
    with pytest.raises(hr.errors.InvalidArgumentError, match="Move it out of that block"):
        hr.chat(saved_folder(tmp_path), TURNS, template=template)


def test_templates_are_chosen_by_name_path_or_text(tmp_path):
    folder = saved_folder(tmp_path / "a")
    more = folder / "additional_chat_templates"
    more.mkdir()
    (more / "short.jinja").write_text("{% generation %}short{% endgeneration %}\n", "utf-8")
    (more / "tool_use.jinja").write_text("{% generation %}tools{% endgeneration %}", "utf-8")
    path = tmp_path / "x.jinja"
    path.write_text("{% generation %}\r\npath{% endgeneration %}", "utf-8")

    def text(**options):
        return as_text(hr.chat(folder, TURNS, **options).tokens)

    assert text(template="short") == "short"
    assert text(tools=[{"type": "function"}]) == "tools"
    assert text(template=str(path)) == "path"
    assert (
        text(template="{% generation %}{{ bos_token + eos_token }}{% endgeneration %}") == "<s></s>"
    )
    assert (
        text(template="{% generation %}{{ x }}{% endgeneration %}", variables={"x": [1]}) == "[1]"
    )
    with pytest.raises(
        hr.errors.NotFoundError, match="Its templates are 'default', 'short', 'tool_use'"
    ):
        text(template="long")


def test_templates_in_the_configuration_are_read(tmp_path):
    named = [{"name": "default", "template": "{% generation %}a{% endgeneration %}"}]
    folder = saved_folder(tmp_path / "a", None, {"chat_template": named})
    assert as_text(hr.chat(folder, TURNS).tokens) == "a"
    folder = saved_folder(tmp_path / "b", None, {"chat_template": named[0]["template"]})
    assert as_text(hr.chat(folder, TURNS).tokens) == "a"
    with pytest.raises(
        hr.errors.NotFoundError, match="the tokenizer has no chat template 'default'"
    ):
        hr.chat(saved_folder(tmp_path / "c", None), TURNS)


def test_missing_files_are_reported(tmp_path, folder):
    with pytest.raises(hr.errors.NotFoundError, match="no such folder"):
        hr.chat(tmp_path / "none", TURNS)
    with pytest.raises(hr.errors.NotFoundError, match=r"tokenizer\.json: no such file"):
        hr.chat(tmp_path, TURNS)
    bare = saved_folder(tmp_path / "bare", "{{ bos_token }}" + TEMPLATE)
    (bare / "tokenizer_config.json").unlink()
    with pytest.raises(hr.errors.InvalidArgumentError, match=r"uses bos_token, but there is no"):
        hr.chat(bare, TURNS)
    (bare / "tokenizer.json").write_text("{}")
    (bare / "chat_template.jinja").write_text(TEMPLATE)
    with pytest.raises(hr.errors.InvalidArgumentError, match=r"the file is not a tokenizer\.json"):
        hr.chat(bare, TURNS)
    with pytest.raises(TypeError, match="tokenizer is a object, expected the path"):
        hr.chat(object(), TURNS)


def test_error_for_an_invalid_template_names_the_line(tmp_path):
    with pytest.raises(
        hr.errors.InvalidArgumentError, match=r"the template 'default' is invalid.*2"
    ):
        hr.chat(saved_folder(tmp_path, "a\n{% if x %}"), TURNS, loss="all")


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([{"role": "tool", "content": "a"}], "Unknown role: tool (line 10 of the template)"),
        ([{"role": "user", "content": "a"}], "no token of the conversation is trained"),
        ([], "messages has no messages"),
        ("text", "messages is a string, expected a list of dicts"),
        (["text"], "messages is a list with a string, expected a list of dicts"),
        (None, "messages is null, expected a list of dicts"),
    ],
)
def test_error_for_a_bad_conversation_names_its_record(folder, tmp_path, messages, text):
    path = written(tmp_path / "chat.jsonl", [TURNS, messages, TURNS[1:]])

    @hr.native
    def render(example):
        return hr.ops.chat(folder, example["messages"])._asdict()

    pipe = hr.json_lines(path, {"messages": hr.Json}).map(render)
    with pytest.raises(hr.errors.InvalidArgumentError, match=re.escape(text)) as caught:
        list(pipe)
    assert str(path) in str(caught.value)
    assert "line 2" in str(caught.value)
    assert len(list(pipe.skip_errors(1))) == 2


def test_wrong_arguments_are_rejected(folder):
    with pytest.raises(ValueError, match="loss is 'user', expected one of 'assistant'"):
        hr.chat(folder, TURNS, loss="user")
    with pytest.raises(ValueError, match="without completion="):
        hr.chat(folder, TURNS, loss="completion")
    with pytest.raises(ValueError, match="max_length is 0, expected at least 1"):
        hr.chat(folder, TURNS, max_length=0)
    with pytest.raises(ValueError, match="max_length does not work with completion="):
        hr.chat(folder, TURNS, completion=TURNS, loss="completion", max_length=9)
    with pytest.raises(TypeError, match="expected a list of dicts, or JSON text"):
        hr.chat(folder, {"role": "user"})
    with pytest.raises(hr.errors.InvalidArgumentError, match="tools is a string, expected a list"):
        hr.chat(folder, TURNS, tools='"x"')


def test_long_conversations_lose_their_last_turns(folder):
    length = len(hr.chat(folder, TURNS[:3]).tokens)
    for most in (length, len(hr.chat(folder, TURNS).tokens) - 1):
        assert as_text(hr.chat(folder, TURNS, max_length=most).tokens).endswith("👍<|im_end|>\n")
    with pytest.raises(
        hr.errors.InvalidArgumentError, match=f"the first turn.* has {length} tokens"
    ):
        hr.chat(folder, TURNS, max_length=length - 1)


def test_answers_that_cannot_be_found_are_rejected(tmp_path):
    template = "{% for m in messages %}{{ loop.revindex }}{{ m.content }}{% endfor %}"
    folder = saved_folder(tmp_path, template)
    with pytest.raises(
        hr.errors.InvalidArgumentError, match="renders earlier messages differently"
    ):
        hr.chat(folder, TURNS, loss="last")
    with pytest.raises(hr.errors.InvalidArgumentError, match="begins with the assistant"):
        hr.chat(folder, TURNS[2:3], loss="last")
    with pytest.raises(hr.errors.InvalidArgumentError, match="no message from the assistant"):
        hr.chat(folder, TURNS[:2], loss="last")


def test_block_that_ends_too_early_warns_once(tmp_path):
    template = TEMPLATE.replace(
        '{{- message.content + "<|im_end|>" }}\n        {%- endgeneration %}',
        '{{- message.content }}\n        {%- endgeneration %}{{- "<|im_end|>" }}',
    )
    folder = saved_folder(tmp_path, template)
    with pytest.warns(UserWarning, match=r"ends its generation block before <\|im_end\|>"):
        assert trained_text(hr.chat(folder, TURNS)) == ["7 µm 👍", "Yes."]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hr.chat(folder, TURNS, max_length=1000)


def test_template_time_can_be_fixed(tmp_path):
    template = "{% generation %}{{ strftime_now('%d %B %Y %H:%M') }}{% endgeneration %}"
    folder = saved_folder(tmp_path, template)
    now = datetime.datetime(2024, 7, 26, 9, 5)
    assert as_text(hr.chat(folder, TURNS, now=now).tokens) == "26 July 2024 09:05"
    today = datetime.datetime.now()
    assert as_text(hr.chat(folder, TURNS).tokens)[-10:-6] == str(today.year)


def test_images_are_placeholders_and_tools_may_be_columns(tmp_path):
    template = (
        "{% generation %}{% for m in messages %}{% for part in m.content %}"
        "{{ '<image>' if part.type == 'image' else part.text }}{% endfor %}{% endfor %}"
        "{{ tools | tojson }}{% endgeneration %}"
    )
    folder = saved_folder(tmp_path / "t", template)
    content = [{"type": "image", "image": object()}, {"type": "text", "text": "what?"}]
    result = hr.chat(folder, [{"role": "user", "content": content}], tools=[{"b": 1, "a": "é"}])
    assert as_text(result.tokens) == '<image>what?[{"b": 1, "a": "é"}]'
    content[0].pop("image")
    messages = [{"role": "user", "content": content}]
    path = written(tmp_path / "c.jsonl", [messages] * 2, tools=[[{"a": None}], None])

    @hr.native
    def render(example):
        return hr.ops.chat(folder, example["messages"], example["tools"])._asdict()

    columns = {"messages": hr.Json, "tools": hr.Json}
    one, other = hr.json_lines(path, columns).map(render)
    assert as_text(one["tokens"]) == '<image>what?[{"a": null}]'
    assert as_text(other["tokens"]) == "<image>what?null"


def test_packed_conversations_resume_at_any_row(folder, tmp_path):
    conversations = [TURNS[:3], TURNS[1:], TURNS[:2] + TURNS[4:]] * 10
    path = written(tmp_path / "chat.jsonl", conversations)
    rows = chats(path, folder).pack(300, ["tokens", "loss_weights"])
    whole = [row["tokens"].tolist() for row in rows]
    batches = iter(rows)
    for row in range(len(whole)):
        state = batches.state()
        assert [r["tokens"].tolist() for r in rows.resume(state)] == whole[row:]
        next(batches)
    assert sum(int(row["loss_weights"].sum()) for row in rows) == sum(
        int(hr.chat(folder, messages).loss_weights.sum()) for messages in conversations
    )


def test_states_require_the_same_template(folder, tmp_path):
    path = written(tmp_path / "chat.jsonl", [TURNS] * 4)
    changed = saved_folder(tmp_path / "changed", TEMPLATE + "x")
    batches = iter(chats(path, folder))
    next(batches)
    with pytest.raises(ValueError, match=folder.name):
        list(chats(path, changed).resume(batches.state()))
