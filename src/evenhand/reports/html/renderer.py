"""The one renderer of HTML: a run and a case look the same in a report and on a page.

Everything is escaped but ``Markup``, and what cannot be seen is made visible. The values of form fields, which a
browser sends back, pass through the filter ``typed`` instead: they are escaped and otherwise left as they are.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any, Final

from jinja2 import Environment, FunctionLoader, StrictUndefined, TemplateNotFound
from markupsafe import Markup, escape

from evenhand.reports.html.compiled import CompiledTemplates
from evenhand.reports.html.json_text import judged_text
from evenhand.reports.html.judgment import attempt_views, attempts_phrase, badge
from evenhand.reports.html.markup import visible
from evenhand.reports.html.moment import moment_element
from evenhand.reports.html.verbatim import abridged, verbatim, verbatim_json
from evenhand.reports.phrases import Standing, counted
from evenhand.version import __version__

_OWN: Final = "evenhand.reports.html"


@functools.cache
def environment(*packages: str) -> Environment:
    """Return the environment with the templates of some packages, and with those that reports and pages share."""
    folders = [resources.files(package) / "templates" for package in (*packages, _OWN)]

    def source(name: str) -> str:
        for folder in folders:
            if (path := folder / name).is_file():
                return path.read_text(encoding="utf-8")
        raise TemplateNotFound(name)

    made = Environment(
        loader=FunctionLoader(source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=_visible,
        bytecode_cache=CompiledTemplates(),
    )
    made.globals.update(
        version=__version__, Standing=Standing, badge=badge, verbatim=verbatim, verbatim_json=verbatim_json,
        abridged=abridged, attempt_views=attempt_views, attempts_phrase=attempts_phrase, counted=counted,
        judged_text=judged_text, moment=moment_element, word=lambda text: text,
    )  # fmt: skip
    made.filters["typed"] = lambda value: Markup(escape(value))  # noqa: S704 - escaped
    return made


def render(template: str, /, **values: Any) -> Markup:
    """Return what a shared template makes of some values."""
    return Markup(environment().get_template(template).render(values))  # noqa: S704 - escaped by the environment


def _visible(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
