"""Providers: what they make of a name, settings and the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from evenhand.domain.errors import ConfigError, MissingKeyError
from evenhand.domain.secret import Secret
from evenhand.models import providers
from evenhand.models.client import HttpModel
from evenhand.models.providers import (
    ANTHROPIC,
    AZURE,
    BEDROCK,
    CEREBRAS,
    DEEPSEEK,
    FIREWORKS,
    GEMINI,
    GROQ,
    LLAMACPP,
    MISTRAL,
    OLLAMA,
    OPENAI,
    OPENROUTER,
    TOGETHER,
    VERTEX,
    VLLM,
    XAI,
    Provider,
)
from evenhand.registry import MODELS, points

ADDRESSES = [
    (OPENAI, "OPENAI_API_KEY", "https://api.openai.com/v1/chat/completions"),
    (ANTHROPIC, "ANTHROPIC_API_KEY", "https://api.anthropic.com/v1/messages"),
    (GEMINI, "GEMINI_API_KEY", "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent"),
    (OLLAMA, None, "http://127.0.0.1:11434/api/chat"),
    (VLLM, None, "http://127.0.0.1:8000/v1/chat/completions"),
    (LLAMACPP, None, "http://127.0.0.1:8080/v1/chat/completions"),
    (OPENROUTER, "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1/chat/completions"),
    (GROQ, "GROQ_API_KEY", "https://api.groq.com/openai/v1/chat/completions"),
    (MISTRAL, "MISTRAL_API_KEY", "https://api.mistral.ai/v1/chat/completions"),
    (DEEPSEEK, "DEEPSEEK_API_KEY", "https://api.deepseek.com/chat/completions"),
    (TOGETHER, "TOGETHER_API_KEY", "https://api.together.xyz/v1/chat/completions"),
    (FIREWORKS, "FIREWORKS_API_KEY", "https://api.fireworks.ai/inference/v1/chat/completions"),
    (CEREBRAS, "CEREBRAS_API_KEY", "https://api.cerebras.ai/v1/chat/completions"),
    (XAI, "XAI_API_KEY", "https://api.x.ai/v1/chat/completions"),
    (BEDROCK, "AWS_BEARER_TOKEN_BEDROCK", "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse"),
]
EVERY = pytest.mark.parametrize(("provider", "variable", "url"), ADDRESSES, ids=[row[0].name for row in ADDRESSES])


@pytest.fixture(autouse=True)
def no_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    for name in ("AZURE_OPENAI_ENDPOINT", "OPENAI_API_VERSION"):
        monkeypatch.delenv(name, raising=False)


@EVERY
def test_a_model_is_asked_where_its_provider_is(
    provider: Provider, variable: str | None, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable:
        monkeypatch.setenv(variable, "sk-1")

    model = provider("m")

    assert (model.name, model.endpoint.url) == (f"{provider.name}/m", url)
    assert (Secret("sk-1") in model.endpoint.secrets) is bool(variable)


@EVERY
def test_a_key_that_is_missing_is_asked_for_by_name(provider: Provider, variable: str | None, url: str) -> None:
    if variable is None:
        assert provider("m").endpoint.secrets == ()
        return

    with pytest.raises(
        MissingKeyError, match=rf"{provider.name}/m needs an API key: set {variable}\b.* or give api_key"
    ):
        provider("m")


def test_every_provider_is_registered_under_its_name() -> None:
    rows = {one.name: one for one in vars(providers).values() if isinstance(one, Provider)}

    assert {name: points(MODELS)[name].load() for name in rows} == rows
    assert len(rows) == 17


def test_a_key_that_is_blank_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "  ")

    with pytest.raises(MissingKeyError, match="set OPENAI_API_KEY"):
        OPENAI("m")


def test_gemini_has_two_names_for_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingKeyError, match="set GEMINI_API_KEY or GOOGLE_API_KEY"):
        GEMINI("m")

    monkeypatch.setenv("GOOGLE_API_KEY", "second")
    assert header(GEMINI("m"), "x-goog-api-key") == "second"

    monkeypatch.setenv("GEMINI_API_KEY", "first")
    assert header(GEMINI("m"), "x-goog-api-key") == "first"


def header(model: HttpModel, name: str) -> str:
    value = model.endpoint.headers[name]
    return value.reveal() if isinstance(value, Secret) else value


@pytest.mark.parametrize("key", ["sk-given", Secret("sk-given"), "${MY_KEY}"])
def test_a_key_is_given_as_text_a_secret_or_a_reference(key: str | Secret, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-usual")
    monkeypatch.setenv("MY_KEY", "sk-given")

    assert header(OPENAI("m", api_key=key), "authorization") == "Bearer sk-given"


def test_a_reference_to_a_variable_that_is_not_set_names_it() -> None:
    with pytest.raises(MissingKeyError, match="openai/m: api_key refers to MY_KEY, which is not set"):
        OPENAI("m", api_key="${MY_KEY}")

    with pytest.raises(ConfigError, match="openai/m: header X-Team refers to MY_TEAM, which is not set"):
        OPENAI("m", api_key="k", headers={"X-Team": "${MY_TEAM}"})


def test_a_value_that_looks_like_a_reference_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "${OTHER}")

    assert header(OPENAI("m", api_key="${MY_KEY}"), "authorization") == "Bearer ${OTHER}"


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000", "box.localhost"])
def test_a_server_on_this_machine_needs_no_key(host: str) -> None:
    model = OPENAI("m", base_url=f"http://{host}/v1")

    assert "authorization" not in model.endpoint.headers


def test_a_server_elsewhere_needs_one() -> None:
    with pytest.raises(MissingKeyError):
        OPENAI("m", base_url="http://127.0.0.1.example.com/v1")


def test_a_header_of_the_user_stands_for_the_key() -> None:
    model = OPENAI("m", headers={"AUTHORIZATION": "Basic abc"})

    assert header(model, "authorization") == "Basic abc"


@pytest.mark.parametrize(
    ("provider", "variable", "value", "url"),
    [
        (OPENAI, "OPENAI_BASE_URL", "http://127.0.0.1:9/v1/", "http://127.0.0.1:9/v1/chat/completions"),
        (ANTHROPIC, "ANTHROPIC_BASE_URL", "http://127.0.0.1:9", "http://127.0.0.1:9/v1/messages"),
        (GEMINI, "GOOGLE_GEMINI_BASE_URL", "http://[::1]:9", "http://[::1]:9/v1beta/models/m:generateContent"),
        (
            VERTEX,
            "GOOGLE_VERTEX_BASE_URL",
            "http://[::1]:9",
            "http://[::1]:9/v1/publishers/google/models/m:generateContent",
        ),
        (VLLM, "VLLM_BASE_URL", "http://gpu:8000/v1", "http://gpu:8000/v1/chat/completions"),
        (LLAMACPP, "LLAMA_BASE_URL", "http://gpu:8080", "http://gpu:8080/chat/completions"),
        (BEDROCK, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "http://127.0.0.1:9", "http://127.0.0.1:9/model/m/converse"),
        (OLLAMA, "OLLAMA_HOST", "gpu", "http://gpu:11434/api/chat"),
        (OLLAMA, "OLLAMA_HOST", "gpu:80", "http://gpu:80/api/chat"),
        (OLLAMA, "OLLAMA_HOST", "0.0.0.0", "http://127.0.0.1:11434/api/chat"),
        (OLLAMA, "OLLAMA_HOST", "0.0.0.0:9", "http://127.0.0.1:9/api/chat"),
        (OLLAMA, "OLLAMA_HOST", "https://gpu.example/ollama", "https://gpu.example/ollama/api/chat"),
        (
            AZURE,
            "AZURE_OPENAI_ENDPOINT",
            "https://127.0.0.1:9/",
            "https://127.0.0.1:9/openai/deployments/m/chat/completions?api-version=2024-10-21",
        ),
    ],
)
def test_an_address_may_stand_in_the_environment(
    provider: Provider, variable: str, value: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)

    assert provider("m").endpoint.url == url


def test_the_setting_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")

    assert OPENAI("m", base_url="http://127.0.0.1:8/v1").endpoint.url == "http://127.0.0.1:8/v1/chat/completions"


def test_azure_must_be_told_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="azure/m needs base_url; give it, or set AZURE_OPENAI_ENDPOINT"):
        AZURE("m", api_key="k")

    monkeypatch.setenv("OPENAI_API_VERSION", "2099-01-01")
    assert AZURE("m", api_key="k", base_url="https://x.example").endpoint.url.endswith("?api-version=2099-01-01")


@pytest.mark.parametrize(
    "url",
    ["api.openai.com/v1", "ftp://host/v1", "http://", "http://host:99999", "http://host/?a=1", "http://host/#a", "://"],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match=r"openai/m: base_url .* must be like https://host/path"):
        OPENAI("m", base_url=url, api_key="k")


def test_an_address_with_a_login_is_refused_unseen() -> None:
    with pytest.raises(ConfigError, match="must not hold a login") as caught:
        OPENAI("m", base_url="https://me:open-sesame@host/v1", api_key="k")

    assert "open-sesame" not in str(caught.value)


def test_a_proxy_that_is_none_is_refused_unseen() -> None:
    with pytest.raises(ConfigError, match="the proxy must be like http://host:port") as caught:
        OPENAI("m", api_key="k", proxy="socks5://me:open-sesame@host:1080")

    assert "open-sesame" not in str(caught.value)


def test_a_file_with_authorities_is_looked_at_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"ca_file '/nowhere.pem' cannot be used"):
        OPENAI("m", api_key="k", ca_file="/nowhere.pem")

    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere-either.pem")
    with pytest.raises(ConfigError, match=r"ca_file '/nowhere-either.pem' cannot be used"):
        OPENAI("m", api_key="k")

    assert OLLAMA("m").endpoint.ca_file is None, "a server without TLS needs none"


def test_openai_calls_the_token_limit_by_its_new_name_and_servers_like_it_by_the_old() -> None:
    own = OPENAI("m", api_key="k", max_tokens=9)
    other = OPENAI("m", base_url="http://127.0.0.1:8000/v1", max_tokens=9)

    assert own.generation.names == {"max_tokens": "max_completion_tokens"}
    assert other.generation.names == {}


@pytest.mark.parametrize(
    ("provider", "structured", "strict"),
    [(OPENAI, "json_schema", True), (DEEPSEEK, "json_object", True), (VLLM, "json_schema", False)],
)
def test_a_provider_knows_the_structured_output_that_it_has(provider: Provider, structured: str, strict: bool) -> None:
    generation = provider("m", api_key="k").generation

    assert (generation.structured, generation.strict) == (structured, strict)


def test_settings_reach_the_model() -> None:
    model = OPENAI(
        "m",
        api_key="k",
        temperature=0,
        top_p=0.5,
        seed=7,
        max_tokens=9,
        structured="none",
        extra_body={"a": 1},
        timeout=1,
        connect_timeout=2,
        first_byte_timeout=3,
        max_body_bytes=4,
        max_transport_attempts=2,
        backoff=0.25,
    )

    generation, endpoint, policy = model.generation, model.endpoint, model.policy
    assert (generation.temperature, generation.top_p, generation.seed, generation.max_tokens) == (0, 0.5, 7, 9)
    assert (generation.structured, generation.extra_body) == ("none", {"a": 1})
    assert (endpoint.timeout, endpoint.connect_timeout, endpoint.first_byte_timeout) == (1, 2, 3)
    assert endpoint.max_body_bytes == 4
    assert (policy.max_transport_attempts, policy.base, policy.cap) == (2, 0.25, 4.0)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"temprature": 0}, "openai/m: no setting 'temprature'; did you mean 'temperature'?"),
        ({"api_version": "1"}, "openai/m: no setting 'api_version'; "),
        ({"max_retries": 3}, "openai/m: no setting 'max_retries'"),
        ({"temperature": -1}, "openai/m: temperature is -1; it must be a finite number, 0 or more"),
        ({"temperature": float("nan")}, "openai/m: temperature is nan; it must be"),
        ({"temperature": True}, "openai/m: temperature is True; it must be"),
        ({"temperature": "0"}, "openai/m: temperature is '0'; it must be"),
        ({"top_p": 0}, "openai/m: top_p is 0; it must be a number above 0, at most 1"),
        ({"top_p": 1.5}, "openai/m: top_p is 1.5; it must be"),
        ({"seed": 1.5}, "openai/m: seed is 1.5; it must be a whole number"),
        ({"max_tokens": 0}, "openai/m: max_tokens is 0; it must be a whole number, 1 or more"),
        ({"timeout": 0}, "openai/m: timeout is 0; it must be a number of seconds above 0"),
        ({"timeout": float("inf")}, "openai/m: timeout is inf; it must be"),
        ({"structured": "yes"}, "openai/m: structured is 'yes'; it must be one of json_schema, json_object, none"),
        ({"structured": ["none"]}, "openai/m: structured is ['none']; it must be one of"),
        ({"headers": ["X"]}, "openai/m: headers must be a mapping of names to text, not list"),
        ({"headers": {"X Y": "1"}}, "openai/m: headers: 'X Y' is not a header name"),
        ({"headers": {"X": 1}}, "openai/m: headers: X must be text, not int"),
        ({"extra_body": "x"}, "openai/m: extra_body must be a mapping of names to values, not str"),
        ({"base_url": 5}, "openai/m: base_url must be text, not int"),
        ({"api_key": 5}, "openai/m: api_key must be text, such as ${OPENAI_API_KEY}, not int"),
    ],
)
def test_a_setting_that_cannot_be_right_is_refused_with_what_would_be(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        OPENAI("m", **{"api_key": "k", **settings})

    assert str(caught.value).startswith(complaint)


def test_anthropic_has_no_seed() -> None:
    with pytest.raises(ConfigError, match="anthropic/m: no setting 'seed'"):
        ANTHROPIC("m", api_key="k", seed=7)


def test_none_is_no_setting() -> None:
    settings: Mapping[str, Any] = {"temperature": None, "headers": None, "timeout": None}

    assert OPENAI("m", api_key="k", **settings) == OPENAI("m", api_key="k")


def test_models_with_equal_settings_are_equal() -> None:
    one, same, other = (OPENAI("m", api_key="k", extra_body={"a": 1}, seed=seed) for seed in (1, 1, 2))

    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != replace(one, policy=replace(one.policy, base=9.0))


def test_a_model_name_goes_into_the_address_as_one_piece() -> None:
    model = GEMINI("models/../x?y", api_key="k")

    assert model.endpoint.url.endswith("/v1beta/models/..%2Fx%3Fy:generateContent")


# Amazon Bedrock


def test_the_region_of_bedrock_is_a_setting_or_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    def host(**settings: Any) -> str:
        return BEDROCK("m", api_key="k", **settings).endpoint.url.split("/")[2]

    assert host(region="us-gov-west-1") == "bedrock-runtime.us-gov-west-1.amazonaws.com"
    assert host() == "bedrock-runtime.eu-west-1.amazonaws.com"
    monkeypatch.delenv("AWS_REGION")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-south-1")
    assert host() == "bedrock-runtime.ap-south-1.amazonaws.com"
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(ConfigError, match="bedrock/m needs region; give it, or set AWS_REGION or AWS_DEFAULT_REGION"):
        host()


def test_a_region_is_not_needed_where_the_address_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_REGION")

    model = BEDROCK("m", base_url="https://gateway.example/bedrock", api_key="k")

    assert model.endpoint.url == "https://gateway.example/bedrock/model/m/converse"
    assert BEDROCK("m", base_url="http://127.0.0.1:9").endpoint.headers.keys().isdisjoint({"authorization"})


@pytest.mark.parametrize("region", ["evil.example/", "us east 1", "US-EAST-1", "a@b", "x" * 61])
@pytest.mark.parametrize("by", ["setting", "variable"])
def test_a_region_that_would_lead_elsewhere_is_refused(region: str, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", region)

    with pytest.raises(ConfigError, match=r"bedrock/m: region is .*; it must be like us-east-1") as caught:
        BEDROCK("m", api_key="k", **({"region": region} if by == "setting" else {}))

    assert caught.value.key == "region"


@pytest.mark.parametrize(
    ("given", "missing"),
    [("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID")],
)
def test_one_of_the_two_keys_of_an_account_is_not_enough(
    given: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(given, "one")

    with pytest.raises(MissingKeyError, match=f"bedrock/m needs both keys of an AWS account: {missing} is not set"):
        BEDROCK("m")


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"])
def test_a_key_of_an_account_that_cannot_be_sent_is_refused_unseen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv(name, "hush\r\nX-Evil: 1")

    with pytest.raises(ConfigError, match="has a character that cannot be sent") as caught:
        BEDROCK("m")

    assert "hush" not in str(caught.value)


def test_a_profile_of_the_aws_command_line_is_not_read_and_it_is_said_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "work")

    with pytest.raises(MissingKeyError, match=r"aws configure export-credentials --profile work --format env"):
        BEDROCK("m")


def test_settings_of_one_provider_are_not_those_of_another() -> None:
    with pytest.raises(ConfigError, match="openai/m: no setting 'region'"):
        OPENAI("m", api_key="k", region="eu-west-1")
    with pytest.raises(ConfigError, match="bedrock/m: no setting 'seed'"):
        BEDROCK("m", api_key="k", seed=7)


# Vertex AI

TOKEN = "ya29.token"
MODELS_OF_GOOGLE = "publishers/google/models/gemini-x:generateContent"


@pytest.mark.parametrize(
    ("location", "host", "path"),
    [
        ("europe-west4", "europe-west4-aiplatform.googleapis.com", "europe-west4"),
        ("global", "aiplatform.googleapis.com", "global"),
        ("eu", "aiplatform.eu.rep.googleapis.com", "eu"),
        (None, "aiplatform.googleapis.com", "global"),
    ],
)
@pytest.mark.parametrize("by", ["settings", "variables"])
def test_a_model_of_vertex_is_asked_in_its_project_and_at_its_location(
    location: str | None, host: str, path: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where: dict[str, Any] = {"project": "example.com:ours", "location": location}
    if by == "variables":
        for name, value in where.items():
            if value:
                monkeypatch.setenv(f"GOOGLE_CLOUD_{name.upper()}", value)
        where = {}

    model = VERTEX("gemini-x", api_key=TOKEN, **where)

    assert model.endpoint.url == f"https://{host}/v1/projects/example.com%3Aours/locations/{path}/{MODELS_OF_GOOGLE}"
    assert header(model, "authorization") == f"Bearer {TOKEN}"


@pytest.mark.parametrize("name", ["GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN"])
def test_an_access_token_may_stand_in_the_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, TOKEN)
    monkeypatch.setenv("GOOGLE_API_KEY", "of the Gemini API")

    model = VERTEX("gemini-x", project="ours")

    assert header(model, "authorization") == f"Bearer {TOKEN}"
    assert "x-goog-api-key" not in model.endpoint.headers


def test_without_a_project_the_key_is_one_of_express_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "ours")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "europe-west4")
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", TOKEN)

    model = VERTEX("gemini-x", project="", api_key="AQ.key")

    assert model.endpoint.url == f"https://aiplatform.googleapis.com/v1/{MODELS_OF_GOOGLE}"
    assert header(model, "x-goog-api-key") == "AQ.key"
    assert "authorization" not in model.endpoint.headers
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT")
    monkeypatch.setenv("GOOGLE_API_KEY", "AQ.usual")
    assert header(VERTEX("gemini-x"), "x-goog-api-key") == "AQ.usual"


def test_a_location_without_a_project_would_be_ignored_and_is_refused() -> None:
    with pytest.raises(ConfigError, match="vertex/gemini-x: location needs a project; give it, or set GOOGLE_CLOUD_P"):
        VERTEX("gemini-x", location="europe-west4", api_key="AQ.key")


@pytest.mark.parametrize("location", ["evil.example/", "eu west", "a@b"])
def test_a_location_that_would_lead_elsewhere_is_refused(location: str) -> None:
    with pytest.raises(ConfigError, match=r"vertex/gemini-x: location is .*; it must be like europe-west4"):
        VERTEX("gemini-x", project="ours", location=location, api_key=TOKEN)


@pytest.mark.parametrize(
    ("variables", "advice"),
    [
        (
            {},
            "set GOOGLE_CLOUD_PROJECT and GOOGLE_OAUTH_ACCESS_TOKEN, or in express mode GOOGLE_API_KEY, or give api_key",
        ),
        (
            {"GOOGLE_CLOUD_PROJECT": "ours"},
            "set GOOGLE_OAUTH_ACCESS_TOKEN to what `gcloud auth print-access-token` prints",
        ),
        (
            {"GOOGLE_CLOUD_PROJECT": "ours", "GOOGLE_APPLICATION_CREDENTIALS": "account.json"},
            "set GOOGLE_OAUTH_ACCESS_TOKEN to what `gcloud auth application-default print-access-token` prints",
        ),
    ],
)
def test_a_model_of_vertex_without_a_key_is_refused_with_where_to_get_one(
    variables: dict[str, str], advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(MissingKeyError) as caught:
        VERTEX("gemini-x")

    assert str(caught.value).startswith(f"vertex/gemini-x needs an API key: {advice}")
    assert ("files of credentials are not read" in str(caught.value)) is (len(variables) == 2)


@pytest.mark.parametrize("key", ["account.json", '{"type": "service_account", "private_key": "hush"}'])
def test_the_file_of_a_service_account_is_no_key_and_is_not_sent(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_ACCOUNT", key)

    with pytest.raises(ConfigError, match="vertex/gemini-x: api_key is the file of a service account") as caught:
        VERTEX("gemini-x", project="ours", api_key="${THE_ACCOUNT}")

    assert "gcloud auth application-default print-access-token" in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "mistral-large", "meta/llama-3.3-70b"])
def test_models_that_google_has_not_made_are_asked_otherwise_there_and_are_refused(model: str) -> None:
    with pytest.raises(ConfigError, match=rf"vertex/{model}: on Vertex AI, only models of Google can be asked"):
        VERTEX(model, project="ours", api_key=TOKEN)
