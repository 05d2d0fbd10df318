"""LangChain's prompts, Runnables and chat models in the judge factory."""

from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.runnables import RunnableLambda

from evenhand import Case, ConfigError, PromptEvaluator, Scripted, create_llm_as_judge

REPLY = '{"reasoning": "Fine.", "score": true}'


def test_a_chat_prompt_template_is_a_prompt() -> None:
    judge = Scripted([REPLY])
    prompt = ChatPromptTemplate([("system", "Be strict."), ("human", "Rate {outputs} for {inputs}")])

    result = create_llm_as_judge(prompt=prompt, judge=judge)(inputs={"q": 1}, outputs="x {y}")

    system, user = judge.asked[0].messages
    assert result["score"] is True
    assert system.content.startswith("Be strict.\n\nReply with")
    assert user.content == 'Rate x {y} for {"q": 1}'


def test_a_string_prompt_template_is_a_prompt() -> None:
    judge = Scripted([REPLY])

    create_llm_as_judge(prompt=PromptTemplate.from_template("Rate {outputs}"), judge=judge)(outputs="x")

    assert judge.asked[0].messages[1].content == "Rate x"


@pytest.mark.parametrize(
    "made",
    [
        lambda values: [SystemMessage("Be kind."), HumanMessage(f"Rate {values['outputs']}")],
        lambda values: {"messages": [("system", "Be kind."), ("human", f"Rate {values['outputs']}")]},
        lambda values: ChatPromptTemplate([("system", "Be kind."), ("human", "Rate {outputs}")]).invoke(values),
    ],
)
def test_a_runnable_is_a_prompt(made: Any) -> None:
    judge = Scripted([REPLY])

    create_llm_as_judge(prompt=RunnableLambda(made), judge=judge)(outputs="x")

    assert judge.asked[0].messages[0].content.startswith("Be kind.")
    assert judge.asked[0].messages[1].content == "Rate x"


def test_a_missing_variable_is_the_templates_own_error() -> None:
    prompt = ChatPromptTemplate([("human", "Rate {outputs} for {audience}")])

    with pytest.raises(KeyError, match="audience"):
        create_llm_as_judge(prompt=prompt, judge=Scripted([]))(outputs="x")


def test_a_chat_model_is_a_judge() -> None:
    model = FakeListChatModel(responses=["Let me see.", f"```json\n{REPLY}\n```"])

    result = create_llm_as_judge(prompt="Rate {outputs}", judge=model)(outputs="x")

    assert result["score"] is True
    assert [attempt["raw"] for attempt in result["metadata"]["attempts"]] == ["Let me see.", f"```json\n{REPLY}\n```"]
    assert result["metadata"]["judge"] == "langchain/FakeListChatModel"


def test_a_chat_model_judges_by_rubric() -> None:
    model = FakeListChatModel(responses=['{"checks": [{"id": "rubric-1", "satisfied": true}]}'])

    evaluation = PromptEvaluator(judge=model, rubrics=["Names the city"]).evaluate(Case(candidate_answer="Paris"))

    assert (evaluation.score, evaluation.hits) == (1.0, ("[rubric-1] Names the city",))


def test_a_chat_model_knows_its_own_model() -> None:
    with pytest.raises(ConfigError, match="knows its model; model='gpt-5' goes with an OpenAI client"):
        create_llm_as_judge(prompt="Rate {outputs}", judge=FakeListChatModel(responses=[]), model="gpt-5")
