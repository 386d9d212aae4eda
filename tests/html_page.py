"""Reads a page of HTML, which must be well formed."""

from collections import Counter
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """A page that is well formed, with its attributes and its text by tag."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.attributes, self.tags, self.text = [], [], Counter(), []
        self.feed(text)
        self.close()
        assert self.open == []

    def values(self, tag, name):
        """The values of an attribute of all elements of a kind."""
        return [value for element, attribute, value in self.attributes if (element, attribute) == (tag, name)]

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes += [(tag, *attr) for attr in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += [(tag, *attr) for attr in attrs]

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
