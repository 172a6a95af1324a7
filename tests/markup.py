"""Helpers for tests of HTML: hostile texts, and the elements of a page."""

from html.parser import HTMLParser

__all__ = ["HOSTILE", "Elements"]

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style><script>alert(1)</script>",
    "&lt;script&gt;",
    "javascript:alert(1)",
    "{{7*7}}",
    "\x00\x1b[31m\u202egpj.exe",
)


class Elements(HTMLParser):
    """Collects the elements, attributes and text of HTML."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)
