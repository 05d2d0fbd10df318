"""The one renderer (SPEC-F3, P2; REL-X1, X2)."""

import re

import pytest
from hypothesis import given, strategies as st

from evenhand import TemplateError
from evenhand.domain.template import Template

HOSTILE = [
    "{criterion} {0} {{x}}",
    "{{ candidate_answer }}",
    "{outputs}",
    "{outputs.__class__.__mro__}",
    "{outputs!r:>100000000}",
    "%(outputs)s ${outputs} $outputs",
    "{% for x in y %}{{ config }}{% endfor %}",
    "\x00\ud800{",
]


@pytest.mark.parametrize("value", HOSTILE)
def test_values_reach_the_prompt_byte_for_byte(value: str) -> None:
    assert Template.with_double_braces("[{{ candidate_answer }}]").render({"candidate_answer": value}) == f"[{value}]"
    assert Template.with_single_braces("[{outputs}]").render({"outputs": value}) == f"[{value}]"


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("Rate: {outputs}", "Rate: OUT"),
        ('Give {"score": 1} for {outputs}', 'Give {"score": 1} for OUT'),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
        ('{{"score": 1}}', '{"score": 1}'),
        ('{{"a": {"b": {}}}}', '{"a": {"b": {}}}'),
        ("{{outputs}}", "{outputs}"),
        ("{{{outputs}}}", "{OUT}"),
        ("}} {outputs} {{", "}} OUT {"),
        ("{outputs.__class__}", "{outputs.__class__}"),
        ("{outputs!r} {outputs:>9} {0} {} { outputs }", "{outputs!r} {outputs:>9} {0} {} { outputs }"),
    ],
)
def test_single_braces_name_places_and_other_braces_stay(template: str, text: str) -> None:
    assert Template.with_single_braces(template).render({"outputs": "OUT"}) == text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ a }}-{{a}}", "A-A"),
        ('{"score": {{ a }}}', '{"score": A}'),
        ("{a} {{ a.b }} {{ 1 }} {{}}", "{a} {{ a.b }} {{ 1 }} {{}}"),
    ],
)
def test_double_braces_name_places_and_other_braces_stay(template: str, text: str) -> None:
    assert Template.with_double_braces(template).render({"a": "A"}) == text


@pytest.mark.parametrize(
    ("template", "place", "name"),
    [
        ("Rate {outputs!r}", "{outputs!r}", "outputs"),
        ("By {context[documents]}", "{context[documents]}", "context"),
        ("By {context[0].text!s:>9}", "{context[0].text!s:>9}", "context"),
        ("By {context.text}", "{context.text}", "context"),
        ("Rate {outputs:>9}", "{outputs:>9}", "outputs"),
    ],
)
def test_a_place_as_python_writes_it_is_refused(template: str, place: str, name: str) -> None:
    message = f"the prompt has {place}; only {{{name}}} is filled in, and {{{place}}} is literal text"

    with pytest.raises(TemplateError, match=re.escape(message)):
        Template.with_single_braces(template).require_plain(["outputs"], where="the prompt")


@pytest.mark.parametrize(
    ("template", "place", "name"),
    [
        ("{{ context[documents] }}", "{{ context[documents] }}", "context"),
        ("{{outputs!r}}", "{{outputs!r}}", "outputs"),
        ("{{ case.question }}", "{{ case.question }}", "case"),
        ("{{ outputs | upper }}", "{{ outputs | upper }}", "outputs"),
        ("{{ a }} {outputs!r}", "{outputs!r}", "outputs"),
        ("{{ a }} {outputs[0]}", "{outputs[0]}", "outputs"),
        ("{{ outputs: x }}", "{{ outputs: x }}", "outputs"),
    ],
)
def test_a_place_as_other_templates_write_it_is_refused(template: str, place: str, name: str) -> None:
    with pytest.raises(TemplateError, match=re.escape(f"t has {place}; only {{{{ {name} }}}} is filled in")):
        Template.with_double_braces(template).require_plain(["outputs", "a"], where="t")


@pytest.mark.parametrize(
    "text",
    ['{"outputs": [1]}', "{score: 1}", "{e.g. this}", "{{outputs!r}}", "{{context[documents]}}", "{ a[0] }", "{}"],
)
def test_other_braces_are_text_in_a_template_with_single_braces(text: str) -> None:
    Template.with_single_braces(text).require_plain(["outputs"], where="t")


@pytest.mark.parametrize(
    "text", ["style={{ color: 'red' }}", "{a[0]}", "{other!r}", "{{ 1 }}", "{{}}", "{outputs}", "{% if a.b %}"]
)
def test_other_braces_are_text_in_a_template_with_double_braces(text: str) -> None:
    Template.with_double_braces(text).require_plain(["outputs"], where="t")


def test_a_name_nobody_gave_is_named() -> None:
    with pytest.raises(TemplateError, match=r"uses 'ouputs', which has no value here; did you mean 'outputs'\?"):
        Template.with_single_braces("Rate: {ouputs}").render({"outputs": "x", "inputs": "y"})


@given(st.text(alphabet="{}ab \"'", max_size=40), st.text(alphabet="{}ab", max_size=20))
def test_rendering_never_fails_on_braces_and_keeps_the_value_whole(template: str, value: str) -> None:
    parsed = Template.with_single_braces(template)

    rendered = parsed.render(dict.fromkeys(parsed.names, value))

    assert rendered.count(value) >= len([part for part in parsed.parts if not isinstance(part, str)])


@given(st.text(max_size=60))
def test_escaping_by_doubling_gives_the_text_back(text: str) -> None:
    balanced = "{" + text.replace("{", "").replace("}", "") + "}"

    assert Template.with_single_braces(balanced.replace("{", "{{").replace("}", "}}")).render({}) == balanced
