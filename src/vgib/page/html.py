"""One self-contained HTML page: no script, nothing loaded from elsewhere, light and dark."""

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --ink: #1d2433; --paper: #fdfcfa; --soft: #6b7280;
  --line: #e2e0da; --card: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e6e1; --paper: #171a21; --soft: #9aa3b2;
  --line: #2c313c; --card: #1f232c; } }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1120px; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .5rem; }
p { max-width: 46rem; margin: .5rem 0; }
.lead { color: var(--soft); }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .32rem 1.1rem .32rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
tr.control td { color: var(--soft); }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(310px, 1fr)); gap: 1rem;
  margin: 1rem 0; }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  overflow: hidden; }
figure .picture { background: #ffffff; display: flex; justify-content: center; }
figure svg { max-width: 100%; height: auto; display: block; }
figcaption { padding: .7rem .9rem .85rem; font-size: .9rem; border-top: 1px solid var(--line); }
figcaption b { font-size: 1rem; }
code { font-size: .85em; overflow-wrap: anywhere; }
.wide { max-width: none; overflow-x: auto; }
.wide img { max-width: 100%; background: #ffffff; }
.legend { display: inline-block; width: 9rem; height: .7rem; border-radius: .35rem;
  vertical-align: middle; margin: 0 .4rem; }
"""


EMBEDDED = """
.vgib { display: grid; grid-template-columns: repeat(auto-fill, minmax(250px, 1fr)); gap: .8rem; }
.vgib figure { margin: 0; border: 1px solid #8884; border-radius: 10px; overflow: hidden; }
.vgib .picture { background: #fff; display: flex; justify-content: center; }
.vgib svg { max-width: 100%; height: auto; }
.vgib figcaption { padding: .5rem .7rem; font-size: .85rem; line-height: 1.5; text-align: left; }
.vgib code { overflow-wrap: anywhere; }
"""


def counted(count: int, thing: str) -> str:
    """A number of things in words.

    >>> counted(1, "molecule"), counted(1200, "molecule")
    ('1 molecule', '1,200 molecules')
    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def page(title: str, lead: str, sections: Iterable[str]) -> str:
    """The whole document; sections are HTML."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>"
        f'<h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p>'
        f"{''.join(sections)}</body></html>\n"
    )


def section(title: str, *parts: str) -> str:
    """A heading and what follows it."""
    return f"<section><h2>{escape(title)}</h2>{''.join(parts)}</section>"


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def list_of(links: Iterable[tuple[str, str]]) -> str:
    """Links, one below the other: address and text of each."""
    items = "".join(f'<li><a href="{escape(to)}">{escape(text)}</a></li>' for to, text in links)
    return f"<ul>{items}</ul>"


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], controls: Iterable[int] = ()
) -> str:
    """Rows of text; those whose number is in ``controls`` are shown more softly."""
    soft = set(controls)
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "".join(
        f"<tr{' class=control' if number in soft else ''}>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in row)
        + "</tr>"
        for number, row in enumerate(rows)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def gallery(figures: Iterable[str]) -> str:
    """Figures side by side."""
    return f'<div class="gallery">{"".join(figures)}</div>'


def embedded(figures: Iterable[str]) -> str:
    """Figures side by side with a style of their own, for a page of others, such as a notebook."""
    return f'<style>{EMBEDDED}</style><div class="vgib">{"".join(figures)}</div>'


def figure(svg: str, name: str, *lines: str, code: str | None = None) -> str:
    """A picture with a caption; ``code`` is a SMILES or the like."""
    text = "".join(f"<br>{escape(line)}" for line in lines)
    shown = f"<br><code>{escape(code)}</code>" if code else ""
    return (
        f'<figure><div class="picture">{svg}</div>'
        f"<figcaption><b>{escape(name)}</b>{text}{shown}</figcaption></figure>"
    )


def short(value: int | float | list[float]) -> str:
    """A prediction in a few characters."""
    if isinstance(value, list):
        return " ".join(f"{v:.5g}" for v in value)
    return str(value) if isinstance(value, int) else f"{value:.5g}"
