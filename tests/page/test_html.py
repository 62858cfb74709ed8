"""One self-contained page, whatever text comes into it."""

from html.parser import HTMLParser

import pytest

from vgib.page.html import (
    EMBEDDED,
    embedded,
    figure,
    gallery,
    list_of,
    page,
    paragraph,
    section,
    short,
    table,
)

VOID = {"meta", "br"}
NASTY = '<script>alert("&")</script>'


class Reader(HTMLParser):
    """Collects text and tags, and fails when a tag is closed that is not open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def names(self) -> list[str]:
        return [tag for tag, _ in self.tags]


def test_a_page_is_balanced_and_loads_nothing() -> None:
    parts = [section("One", paragraph("text"), gallery([figure("<svg></svg>", "name", "line")]))]
    text = page("Title", "Lead", parts)
    reader = Reader(text)
    assert text.startswith("<!doctype html>")
    assert reader.names()[:2] == ["html", "head"] and "svg" in reader.names()
    assert not {"script", "link", "img", "iframe"} & set(reader.names())
    assert "url(" not in text and "@import" not in text and "http" not in text
    assert ("meta", {"charset": "utf-8"}) in reader.tags


def test_text_from_outside_stays_text() -> None:
    parts = [
        section(NASTY, paragraph(NASTY), table((NASTY,), [(NASTY,)])),
        figure("<svg></svg>", NASTY, NASTY, code=NASTY),
    ]
    reader = Reader(page(NASTY, NASTY, parts))
    assert "script" not in reader.names()
    assert reader.text.count(NASTY) == 10  # the title counts in the head and in the body


def test_controls_are_marked_in_a_table() -> None:
    reader = Reader(table(("a", "b"), [("1", "2"), ("3", "4"), ("5", "6")], controls=[1]))
    rows = [attributes.get("class") for tag, attributes in reader.tags if tag == "tr"]
    assert rows == [None, None, "control", None]  # the first is the header
    assert reader.names().count("td") == 6


def test_a_figure_shows_code_only_when_there_is_some() -> None:
    assert "<code>" not in figure("<svg></svg>", "name")
    assert "<code>*CC</code>" in figure("<svg></svg>", "name", code="*CC")


def test_figures_bring_their_style_into_the_pages_of_others() -> None:
    shown = embedded([figure("<svg/>", "a < b")])
    assert shown.startswith("<style>") and "a &lt; b" in shown
    rules = [line for line in EMBEDDED.splitlines() if "{" in line]
    assert rules and all(line.startswith(".vgib") for line in rules)


@pytest.mark.parametrize(
    ("value", "text"), [(2, "2"), (0.1234567, "0.12346"), ([0.5, 1.25], "0.5 1.25")]
)
def test_predictions_are_short(value: int | float | list[float], text: str) -> None:
    assert short(value) == text


def test_links_stand_in_a_list_and_are_escaped() -> None:
    found = list_of([("a.html", NASTY), ('b".html', "B")])
    assert found.count("<li>") == 2 and '<a href="a.html">' in found
    assert NASTY not in found and 'href="b".html' not in found
