"""The one renderer (SPEC-F3, P2; REL-X1, X2)."""

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
