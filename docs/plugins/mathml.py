"""Equations as MathML at build time: no script and no server is needed to read them."""

import re
from collections.abc import Iterable
from html import unescape
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

# What arithmatex makes of $...$ and $$...$$; in headings, the table of contents has the bare text.
EQUATION = re.compile(
    r'<(span|div) class="arithmatex">\\(?P<kind>[(\[])(?P<latex>.*?)\\[)\]]</\1>', re.DOTALL
)
IN_TITLE = re.compile(r"\\(?P<kind>\()(?P<latex>.*?)\\\)")

# What the converter does not know, or knows only in another form.
REWRITTEN = {
    r"\\arg(?![A-Za-z])": r"\\operatorname{arg}",
    r"\\(mathcal|mathbb) *([A-Z])": r"\\\1{\2}",
}


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Replaces every equation of a page and of its table of contents."""

    def drawn(found: re.Match[str]) -> str:
        return mathml(unescape(found["latex"]), page.file.src_path, found["kind"] == "[")

    for item in _all(page.toc):
        item.title = IN_TITLE.sub(drawn, item.title)
    return EQUATION.sub(drawn, html)


def mathml(latex: str, where: str = "", display: bool = False) -> str:
    """One equation; an unknown command is an error, not a red word on the page."""
    text = latex.strip()
    for name, known in REWRITTEN.items():
        text = re.sub(name, known, text)
    try:
        drawn: str = convert(text, display="block" if display else "inline")
    except Exception as error:
        raise PluginError(f"{where}: cannot draw the equation {latex!r}: {error}") from error
    if unknown := re.search(r">(\\[A-Za-z]+)<|mathvariant=\"[^n]", drawn):
        raise PluginError(
            f"{where}: {unknown[0].strip('<>')} is not drawn, in the equation {latex!r}"
        )
    return drawn


def _all(items: Iterable[Any]) -> Iterable[Any]:
    """Headings at every depth."""
    for item in items:
        yield item
        yield from _all(item.children)
