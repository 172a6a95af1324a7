"""In HTML, data is escaped, and pages load nothing."""

import re

import pytest
from tests.markup import HOSTILE, Elements

from headrace.core.html import Html, bar, figures, fragment, num_bytes, page, table, tag


@pytest.mark.parametrize("text", HOSTILE)
def test_text_cannot_become_markup(text):
    made = Elements(page(text, table([text], [[text]]), tag("p", text, title=text, class_=text)))
    assert "script" not in made.tags
    assert "img" not in made.tags
    assert not [name for name, _ in made.attributes if name.startswith("on")]
    assert made.tags.count("td") == 1


def test_escaped_text_and_attributes_parse_back_unchanged():
    made = Elements(tag("p", "a < b & 'c'", title='"x"'))
    assert made.texts == ["a < b & 'c'"]
    assert made.attributes == [("title", '"x"')]


def test_hidden_characters_become_visible():
    assert tag("p", "a\u202eb") == "<p>a\\u202eb</p>"


def test_html_is_not_escaped_twice():
    assert tag("p", tag("b", "x")) == "<p><b>x</b></p>"
    assert tag("p", Html("<i>y</i>")) == "<p><i>y</i></p>"


def test_none_attributes_are_omitted():
    assert tag("img", src="data:,", alt=None) == '<img src="data:,">'


def test_page_forbids_external_resources():
    text = page("title", "content")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "default-src &#x27;none&#x27;" in policy
    assert not re.search(r'(?:src|href)="(?!data:)', text)
    assert "@import" not in text


def test_style_is_part_of_a_fragment():
    assert fragment("x").startswith('<div class="headrace ')
    assert "<style>" in fragment("x")


@pytest.mark.parametrize(
    ("share", "width"), [(0.25, "25%"), (-1.0, "0%"), (7.0, "100%"), (1.0, "100%")]
)
def test_bar_width_is_clamped_to_empty_and_full(share, width):
    assert f"width:{width}" in bar(share)


def test_histogram_shows_every_nonzero_count():
    made = Elements(figures([0, 1, 1000], "three"))
    assert made.tags.count("rect") == 2
    assert made.texts == ["three"]


@pytest.mark.parametrize(
    ("number", "text"), [(1, "1 byte"), (512, "512 bytes"), (1536, "1.5 KiB"), (3 << 40, "3.0 TiB")]
)
def test_sizes_have_units(number, text):
    assert num_bytes(number) == text


def test_style_wins_over_the_style_of_notebooks():
    style = re.search("<style>(.*?)</style>", fragment())[1]
    selectors = re.findall(r"(?:^|\})([^{]*)\{", style)
    assert len(selectors) > 10
    # JupyterLab's strongest rule for a table has three classes.
    for selector in (one for several in selectors for one in several.split(",.")):
        assert selector.count("headrace") >= 4, selector
