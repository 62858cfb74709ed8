"""Docstrings as the site's Markdown: their equations and roles are written for Sphinx's eyes."""

import re
import textwrap
from typing import Any

import griffe

DIRECTIVE = re.compile(r"^( *)\.\. math::(.*(?:\n(?:\1 +\S.*| *(?=\n\1 +\S)))*)", re.MULTILINE)
ROLE = re.compile(r":(\w+):`~?([^`<]+)`")
CODE = re.compile(r"``([^`]+)``")
EXAMPLE = re.compile(r"^( *)>>> .*(?:\n *\S.*)*", re.MULTILINE)


def markdown(text: str) -> str:
    """``.. math::`` to ``$$``, ``:math:`` to ``$``, other roles and examples to code.

    >>> markdown("Gives :math:`z_i` of :class:`~vgib.nn.around.VGIB`, ``[n]``.")
    'Gives $z_i$ of `VGIB`, `[n]`.'
    """
    text = DIRECTIVE.sub(_displayed, text)
    text = ROLE.sub(_role, text)
    text = CODE.sub(r"`\1`", text)
    return EXAMPLE.sub(r"\1```pycon\n\g<0>\n\1```", text)


def _displayed(found: re.Match[str]) -> str:
    indent, body = found[1], textwrap.dedent(found[2]).split()
    return f"{indent}$$\n{indent}{' '.join(body)}\n{indent}$$\n"


def _role(found: re.Match[str]) -> str:
    kind, target = found[1], found[2]
    return f"${target}$" if kind == "math" else f"`{target.rpartition('.')[2]}`"


class Docstrings(griffe.Extension):
    """Rewrites every docstring as it is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe with each class, function, attribute and module."""
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)
