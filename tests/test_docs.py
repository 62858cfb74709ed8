"""How the site is made of the pages and the docstrings; the build itself is part of `make lint`."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

pytest.importorskip("mkdocs", reason="the site needs mkdocs; pip install 'vgib[docs]'")
from mkdocs.exceptions import PluginError

DOCS = Path(__file__).resolve().parents[1] / "docs"


def plugin(name: str) -> ModuleType:
    spec = spec_from_file_location(name, DOCS / "plugins" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MATHML, PAGES, DOCSTRINGS = plugin("mathml"), plugin("pages"), plugin("docstrings")
PAGE = SimpleNamespace(file=SimpleNamespace(src_path="a.md"), toc=[])


def test_equations_become_mathml_in_the_text_and_in_the_menu() -> None:
    heading = SimpleNamespace(title=r"From \(G_N\)", children=[])
    page = SimpleNamespace(file=PAGE.file, toc=[SimpleNamespace(title="a", children=[heading])])
    html = r'<p><span class="arithmatex">\(a &lt; b\)</span></p><div class="arithmatex">\[c\]</div>'
    drawn = MATHML.on_page_content(html, page)
    assert drawn.count("<math") == 2 and drawn.count('display="block"') == 1
    assert "arithmatex" not in drawn and "&#x0003C;" in drawn
    assert heading.title.startswith("From <math")


def test_script_letters_are_characters_and_unknown_commands_errors() -> None:
    assert "&#x1D4A9;" in MATHML.mathml(r"\mathcal N(\mu)")
    assert "<mo>arg</mo>" in MATHML.mathml(r"\arg\max_x f")
    with pytest.raises(PluginError, match=r"a\.md: .*nonsense is not drawn"):
        MATHML.mathml(r"\nonsense x", "a.md")


def test_links_out_of_the_site_name_the_file() -> None:
    given = "See [the map](theory.md), [`config.py`](../src/config.py), [x/y.md](../x/y.md)."
    assert PAGES.on_page_markdown(given) == (
        "See [the map](theory.md), `config.py` (`src/config.py`), x/y.md."
    )


def test_lists_after_a_paragraph_get_their_blank_line() -> None:
    given = (
        "Text:\n- one\n- two\n  more\n- three\n\n> Lemma\n> 1. a\n> 2. b\n\n```\nx\n- y\n```\n| a |"
    )
    assert PAGES.with_blank_lines(given) == given.replace("Text:\n", "Text:\n\n").replace(
        "> Lemma\n", "> Lemma\n>\n"
    )


def test_pages_that_the_menu_does_not_name_are_added(tmp_path: Path) -> None:
    for name in ("index.md", "new.md"):
        (tmp_path / name).write_text("# A")
    menu = [{"Start": "index.md"}, {PAGES.REST: ["old.md"]}]
    PAGES.on_config(SimpleNamespace(nav=menu, docs_dir=str(tmp_path)))
    assert menu == [{"Start": "index.md"}, {PAGES.REST: ["old.md", "new.md"]}]


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="https://fonts.example/x.css">',
        "<img alt='x' src=http://example/x.png>",
    ],
)
def test_a_page_that_loads_something_from_elsewhere_is_refused(html: str) -> None:
    with pytest.raises(PluginError, match=r"a\.md loads something from elsewhere"):
        PAGES.on_post_page(html, PAGE)
    assert PAGES.on_post_page('<a href="https://example.org">x</a>', PAGE)


def test_docstrings_become_markdown() -> None:
    text = (
        "Gives :math:`z_i` of :class:`~vgib.nn.around.VGIB`.\n\n"
        "    .. math:: a = b, \\quad\n              c = d\n\n"
        "    ``h`` is ``[n]``."
    )
    assert DOCSTRINGS.markdown(text) == (
        "Gives $z_i$ of `VGIB`.\n\n    $$\n    a = b, \\quad c = d\n    $$\n\n\n    `h` is `[n]`."
    )


def test_examples_in_docstrings_become_code() -> None:
    text = "Adds.\n\n    >>> add(1,\n    ...     2)\n    3\n\n    More.\n\n    >>> x\n"
    assert DOCSTRINGS.markdown(text) == (
        "Adds.\n\n    ```pycon\n    >>> add(1,\n    ...     2)\n    3\n    ```\n\n    More.\n\n"
        "    ```pycon\n    >>> x\n    ```\n"
    )
