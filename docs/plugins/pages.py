"""The menu, links that lead out of the site, and the promise that nothing comes from elsewhere."""

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

REST = "Results and more"

# A relative link to a file of the repository that is no page, such as ../src/vgib/config.py.
OUTWARD = re.compile(r"\[([^\]]+)\]\((\.\./[^)]+)\)")
ITEM = re.compile(r"(?P<quote>(?:> ?)?)(?:\d+\.|[-*]) ")
PARAGRAPH = re.compile(r"(?:> ?)?[^\s>|#`]")
LOADED = re.compile(r"""<(?:script|img|iframe|link[^>]+stylesheet)[^>]*(?:src|href)=["']?https?:""")


def on_config(config: Any) -> Any:
    """Adds the pages that the menu does not name."""
    named = set(re.findall(r"[\w/]+\.md", str(config.nav)))
    folder = Path(config.docs_dir)
    missing = sorted(page.name for page in folder.glob("*.md") if page.name not in named)
    for section in config.nav:
        section.get(REST, []).extend(missing)
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The pages are written to be read in a repository too, where a few things are different."""
    return with_blank_lines(OUTWARD.sub(_named, markdown))


def _named(found: re.Match[str]) -> str:
    """A file of the repository by its name, in the place of a link that leads nowhere here."""
    text, path = found[1], found[2].removeprefix("../")
    return text if path in text else f"{text} (`{path}`)"


def with_blank_lines(markdown: str) -> str:
    """Lists may follow a paragraph at once; here they need a blank line before them."""
    lines: list[str] = []
    is_code = False
    for line in markdown.splitlines():
        is_code ^= line.startswith("```")
        last = lines[-1] if lines else ""
        item = ITEM.match(line)
        if item and not is_code and PARAGRAPH.match(last) and not ITEM.match(last):
            lines.append(item["quote"].rstrip())
        lines.append(line)
    return "\n".join(lines)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Refuses a page that would load anything over the network."""
    if found := LOADED.search(output):
        raise PluginError(f"{page.file.src_path} loads something from elsewhere: {found[0]}")
    return output
