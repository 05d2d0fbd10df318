"""What reads text from outside, each with texts that are meant to hurt it; run by itself, it reads one group of them.

`python hostile_readers.py --list` prints the groups and the modules that they cover. Under `valgrind
--tool=callgrind`, `python hostile_readers.py GROUP` forks a child for each measurement and prints which process read
what; how many instructions each took stands in callgrind's files. A count is exact, whatever else the machine does.
"""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

# The smallest text of a measurement; the others have twice and four times as many characters.
SMALLEST = 800
# Suspects are measured once more with larger texts: what was a step, from one way of reading to another, is none there.
SMALLEST_OF_SUSPECTS = 4 * SMALLEST


def repeated(unit: str) -> Callable[[int], str]:
    """Make texts of about so many characters out of one unit."""
    return lambda size: unit * (size // len(unit))


def between(start: str, unit: str, end: str) -> Callable[[int], str]:
    """Make texts that begin and end in a certain way."""
    return lambda size: start + unit * (size // len(unit)) + end


# What breaks readers: openings without an end, ends without an opening, what may belong to two repetitions at once.
HOSTILE: dict[str, Callable[[int], str]] = {
    "letters": repeated("a"),
    "words": repeated("ab "),
    "blanks": repeated(" "),
    "blanks and an end": between("", " ", "x"),
    "lines": repeated("\n"),
    "carriage returns": repeated("\r"),
    "quotes": repeated('"'),
    "escaped quotes": repeated('\\"'),
    "backslashes": repeated("\\"),
    "open strings": repeated('"a '),
    "braces": repeated("{"),
    "double braces": repeated("{{"),
    "open objects": repeated('{"a":'),
    "objects in strings": repeated('"{\\"a\\":'),
    "objects": repeated('{"score": 1} '),
    "brackets": repeated("["),
    "nested lists": lambda size: "[" * (size // 2) + "]" * (size // 2),
    "fence and blanks": between("```json\n", " ", ""),
    "fences": repeated("```\n"),
    "thoughts": repeated("<think>"),
    "ends of thoughts": repeated("</think>"),
    "colons": repeated(":"),
    "address of colons": between("a://", ":", ""),
    "at signs": between("http://", "@", ""),
    "dots": repeated("a."),
    # Python takes no whole number of more digits than these, and is done with shorter ones in a millisecond.
    "digits": lambda size: "9" * (4_300 + size),
    "digits and dots": repeated("9."),
    "commas": repeated("1,"),
    "minus signs": repeated("-"),
    "percents": repeated("%2"),
    "references": repeated("${A"),
    "nested references": repeated("${"),
    "parentheses": repeated("("),
    "angles": repeated("<"),
    "ampersands": repeated("&a"),
    "hashes": repeated("# "),
    "stars": repeated("*"),
    "escape sequences": repeated("\x1b["),
    "combining": repeated("e\u0301"),
    "wide": repeated("\U0001f600"),
}


class Reader(NamedTuple):
    """Something that reads text from outside: how it is called, and the modules of the package that are at work."""

    name: str
    modules: tuple[str, ...]
    read: Callable[[str], object]
    # Texts that are meant for this one, beside those for all.
    own: dict[str, Callable[[int], str]] = {}  # noqa: RUF012 - nobody changes it


def readers(group: str) -> Iterator[Reader]:
    """Make the readers of a group; what they need is imported by then."""
    yield from GROUPS[group]()


# Replies, prompts and answers


def evaluators() -> Iterator[Reader]:  # noqa: C901 - a list
    """Read judges' replies, and what stands in the prompts that they answer."""
    from evenhand import Case, PairwiseEvaluator, PromptEvaluator, Scripted, create_llm_as_judge
    from evenhand.evaluators.freeform import FREEFORM
    from evenhand.evaluators.group_ranking import GroupRankingEvaluator
    from evenhand.evaluators.profile_score import ProfileScoreEvaluator
    from evenhand.evaluators.prompts.ready import ready_prompt
    from evenhand.evaluators.reading import first_value, parse_strict, read_reply

    reading = (
        "evaluators/reading.py",
        "evaluators/scanner.py",
        "evaluators/echoes.py",
        "evaluators/reasoning_block.py",
    )
    quoting = 'I saw {"score": 0.2} there. {"score": 0.7}'
    replies = {
        "verdicts": repeated('{"score": 0.5}\n'),
        "different verdicts": lambda size: "".join(f'{{"score": 0.{number}}}' for number in range(size // 14)),
        "reply in a fence": between("```json\n{", " ", '"score": 1}\n```'),
        "many keys": lambda size: json.dumps({"score": 1, **{str(n): n for n in range(size // 10)}}),
        "equal keys": lambda size: "{" + '"a": 1, ' * (size // 8) + '"score": 1}',
        "channels": repeated("<|channel|>analysis<|message|>"),
        "long number": lambda size: '{"score": 0.' + "1" * size + "}",
        "checks": lambda size: json.dumps({"checks": [{"id": "a", "satisfied": True}] * (size // 30)}),
        "order": lambda size: json.dumps({"order": ["A", "B"] * (size // 10)}),
    }

    def asked(evaluator: Any, **fields: Any) -> Any:
        return evaluator.evaluate(Case(question="?", expected_outcome="x", **fields))

    def of_answer(text: str) -> object:
        return asked(PromptEvaluator(judge=Scripted([quoting])), candidate_answer=text)

    def of_reply(text: str) -> object:
        return asked(PromptEvaluator(judge=Scripted([text] * 3)), candidate_answer="a")

    def of_checks(text: str) -> object:
        evaluator = PromptEvaluator(judge=Scripted([text] * 3), rubrics=["One", "Two"], evidence=True)
        return asked(evaluator, candidate_answer="a")

    def of_evidence(text: str) -> object:
        quote = json.dumps({"checks": [{"id": "rubric-1", "satisfied": True, "evidence": text[:-1] + "?"}]})
        return asked(
            PromptEvaluator(judge=Scripted([quote] * 3), rubrics=["One"], evidence=True), candidate_answer=text
        )

    def of_template(text: str) -> object:
        evaluator = PromptEvaluator(judge=Scripted([quoting]), template="{{ candidate_answer }}" + text)
        return asked(evaluator, candidate_answer="a")

    def of_factory(text: str) -> object:
        judge = create_llm_as_judge(prompt=text + "{outputs}", judge=Scripted(['{"reasoning": "", "score": true}']))
        return judge(outputs=text)

    def of_pair(text: str) -> object:
        return asked(PairwiseEvaluator(judge=Scripted([text] * 6)), candidate_answer=text, reference_answer="a")

    def of_score(text: str) -> object:
        return asked(ProfileScoreEvaluator(judge=Scripted([text] * 3), criteria="c"), candidate_answer=text)

    def of_order(text: str) -> object:
        group = [{"id": "a", "text": text}, {"id": "b", "text": "b"}]
        evaluator = GroupRankingEvaluator(judge=Scripted([text] * 3), criteria="c")
        return evaluator.evaluate(Case(metadata={"profiles": group}))

    yield Reader("a reply", reading, lambda text: read_reply(text, FREEFORM), replies)
    yield Reader("the prompt of a reply", reading, lambda text: read_reply(quoting, FREEFORM, material=[text]), replies)
    yield Reader("strict JSON", reading, parse_strict, replies)
    yield Reader("the first value", reading, first_value, replies)
    yield Reader("an answer to judge", (*reading, "evaluators/sections.py"), of_answer, replies)
    yield Reader("a reply to judge by", ("domain/contract.py", "domain/scale.py"), of_reply, replies)
    yield Reader("checks of a rubric", ("evaluators/rubric.py",), of_checks, replies)
    yield Reader("evidence", ("domain/contract.py",), of_evidence)
    yield Reader("a template", ("domain/template.py",), of_template)
    yield Reader("a prompt of the factory", ("domain/template.py", "evaluators/factory.py"), of_factory)
    yield Reader("a pair", ("evaluators/pairwise.py",), of_pair, replies)
    yield Reader("a scored profile", ("evaluators/profile_score.py",), of_score, replies)
    yield Reader("a ranked group", ("evaluators/group_ranking.py",), of_order, replies)
    yield Reader("the name of a ready prompt", ("evaluators/prompts/ready.py",), ready_prompt)


def checks() -> Iterator[Reader]:  # noqa: C901 - a list
    """Read answers without a judge."""
    from evenhand import (
        Case,
        CodeJudgeEvaluator,
        Contains,
        EndsWith,
        Equals,
        FieldAccuracy,
        IContains,
        IsJson,
        JsonMatch,
        Numeric,
        Rouge,
        SchemaEvaluator,
        StartsWith,
        TokenF1,
    )
    from evenhand.domain.ask import Exec
    from evenhand.domain.errors import ConfigError
    from evenhand.domain.reply import Exited
    from evenhand.evaluators.checks.text import Regex
    from evenhand.evaluators.schema.compiled import compile_schema

    def of(evaluator: Any) -> Callable[[str], object]:
        return lambda text: evaluator.evaluate(Case(candidate_answer=text, reference_answer=text[:-1] + "!"))

    def of_json(text: str) -> object:
        return JsonMatch().evaluate(Case(candidate_answer=json.dumps([text] * 3), reference_answer=json.dumps([text])))

    def of_fields(text: str) -> object:
        answer, reference = json.dumps({"a": [text] * 3, "b": text}), json.dumps({"a": [text], "b": "2025-01-15"})
        rules: list[dict[str, Any]] = [
            {"path": "a[*]", "match": "text"},
            {"path": "b", "match": "date", "formats": ["YYYY-MM-DD", "D MMM YYYY"]},
        ]
        return FieldAccuracy(fields=rules, list_mode="unordered").evaluate(
            Case(candidate_answer=answer, reference_answer=reference)
        )

    def of_path(text: str) -> object:
        try:
            return FieldAccuracy(fields=[text[:1000]])
        except ConfigError as error:
            return error

    def of_pattern(text: str) -> object:
        return Regex(value=text[:2000]).evaluate(Case(candidate_answer=text))

    def of_schema(text: str) -> object:
        return compile_schema({"type": "string", "pattern": text[:2000], "title": text})

    def of_schema_text(text: str) -> object:
        return compile_schema(text)

    def of_output(text: str) -> object:
        schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
        case = Case(candidate_answer=json.dumps({"a": text, text: 1}), evaluation_schema=schema)
        return SchemaEvaluator(parse="tolerant").evaluate(case)

    def of_program(text: str) -> object:
        steps = CodeJudgeEvaluator(command=["judge"]).steps(Case(candidate_answer=text))
        (wanted,) = next(steps)
        assert isinstance(wanted, Exec)
        try:
            steps.send((Exited(code=0, stdout=text, stderr=text, seconds=0.0),))
        except StopIteration as returned:
            return returned.value
        raise AssertionError("a code judge asks once")

    numbers = {"numbers": repeated("1.5 "), "grouped digits": repeated("1,000,"), "exponents": repeated("1e1")}
    yield Reader("equals", ("evaluators/checks/check.py",), of(Equals()))
    yield Reader("contains", ("evaluators/checks/check.py",), of(Contains()))
    yield Reader("icontains", ("evaluators/checks/check.py",), of(IContains()))
    yield Reader("starts_with", ("evaluators/checks/check.py",), of(StartsWith()))
    yield Reader("ends_with", ("evaluators/checks/check.py",), of(EndsWith()))
    yield Reader("regex", ("evaluators/checks/text.py",), of(Regex(value="(a|aa)+$")))
    yield Reader("the pattern of regex", ("evaluators/checks/text.py",), of_pattern)
    yield Reader("is_json", ("evaluators/checks/json.py", "evaluators/reading.py"), of(IsJson()))
    yield Reader("json_match", ("evaluators/checks/json.py",), of_json)
    yield Reader("field_accuracy", ("evaluators/field_accuracy.py", "evaluators/checks/fields.py"), of_fields)
    yield Reader("the path of a field", ("evaluators/checks/field.py",), of_path)
    yield Reader("token_f1", ("evaluators/checks/text_overlap.py",), of(TokenF1()))
    yield Reader("rouge", ("evaluators/checks/text_overlap.py",), of(Rouge()))
    yield Reader("numeric", ("evaluators/checks/numeric.py",), of(Numeric()), numbers)
    yield Reader("a schema", ("evaluators/schema/compiled.py", "evaluators/schema/patterns.py"), of_schema)
    yield Reader("the text of a schema", ("evaluators/schema/graph.py",), of_schema_text)
    yield Reader("an output with a schema", ("evaluators/schema/evaluator.py", "domain/json_path.py"), of_output)
    yield Reader("what a code judge writes", ("evaluators/code.py", "evaluators/program.py"), of_program)


# What providers answer


def providers() -> Iterator[Reader]:  # noqa: C901 - a list
    """Read what servers and proxies send, and the names and addresses of models."""
    from evenhand.domain.secret import Secret
    from evenhand.models.dialects import anthropic, bedrock, gemini, ollama, openai
    from evenhand.models.dialects.dialect import complaint_in
    from evenhand.models.environment import environment_proxy, is_exempt
    from evenhand.models.exchange import _unpacked
    from evenhand.models.families import family_of
    from evenhand.models.prices import price_of
    from evenhand.models.resolve import resolve
    from evenhand.models.retry import TransportFault, quoted, retry_after_seconds
    from evenhand.models.wire.connection import Connection, Response
    from evenhand.models.wire.dial import _Answer

    class Transport(asyncio.Transport):
        """A transport that leads nowhere."""

        def write(self, data: bytes | bytearray | memoryview) -> None:
            """Send nothing."""

        def abort(self) -> None:
            """Close nothing."""

        def is_closing(self) -> bool:
            """Stay open."""
            return False

        def get_write_buffer_size(self) -> int:
            """Hold nothing."""
            return 0

    def received(message: bytes, piece: int) -> object:
        loop = asyncio.new_event_loop()

        async def exchange() -> object:
            connection = Connection("http://a", loop)
            connection.connection_made(Transport())
            asked = loop.create_task(connection.exchange(b"", most=1 << 20, progress=lambda: None))
            await asyncio.sleep(0)
            for start in range(0, len(message), piece):
                connection.data_received(message[start : start + piece])
            connection.eof_received()
            try:
                return await asked
            except TransportFault as error:
                return str(error)

        try:
            return loop.run_until_complete(exchange())
        finally:
            loop.close()

    def of_head(text: str) -> object:
        return received(f"HTTP/1.1 200 OK\r\nx: {text}\r\n\r\n".encode("utf-8", "replace"), 64)

    def of_headers(text: str) -> object:
        return received(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * (len(text) // 6), 64)

    def of_body(text: str) -> object:
        body = text.encode("utf-8", "replace")
        return received(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body), 16)

    def of_chunks(text: str) -> object:
        chunks = b"".join(b"1\r\n%c\r\n" % character for character in text.encode("utf-8", "replace"))
        return received(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n", 64)

    def of_packed(text: str) -> object:
        packed = gzip.compress(text.encode("utf-8", "replace"))
        response = Response(200, {"content-encoding": "gzip"}, packed)
        return _unpacked(response, 1 << 20).json

    def of_tunnel(text: str) -> object:
        answer = _Answer(asyncio.new_event_loop())
        for byte in text.encode("utf-8", "replace"):
            answer.data_received(bytes([byte]))
        return answer

    def of_responses(text: str) -> object:
        response = Response(200, {}, text.encode("utf-8", "replace"))
        return response.json, response.page, quoted(text), retry_after_seconds(text, now=0)

    def of_dialects(text: str) -> object:
        said: list[object] = []
        for dialect, body in (
            (
                openai,
                {"choices": [{"message": {"content": text}, "finish_reason": text}], "usage": {"total_tokens": text}},
            ),
            (anthropic, {"content": [{"type": "text", "text": text}] * 3, "stop_reason": text}),
            (gemini, {"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": text}]}),
            (ollama, {"message": {"content": text}, "done_reason": text}),
            (bedrock, {"output": {"message": {"content": [{"text": text}] * 3}}, "stopReason": text}),
        ):
            said.append(tried(dialect.decode, body))
        said.append(bedrock.complaint({"message": text, "__type": text}, {"x-amzn-errortype": text}))
        details = [{"retryDelay": text}]
        said.append(complaint_in({"error": {"message": text, "code": text, "details": details}}))
        return said

    def of_names(text: str) -> object:
        return family_of(text), tried(price_of, text), tried(resolve, text), tried(resolve, f"openai/{text}")

    def of_addresses(text: str) -> object:
        settings = {"model": "vllm/x", "api_key": "k"}
        return [
            tried(resolve, settings | {"base_url": text}),
            tried(resolve, settings | {"base_url": f"http://{text}"}),
            tried(resolve, settings | {"proxy": text}),
            tried(resolve, settings | {"headers": {"X-Api-Key": text}}),
            tried(resolve, settings | {"headers": {text: "x"}}),
            tried(resolve, {"model": "bedrock/x", "api_key": "k", "region": text}),
            tried(resolve, {"model": "vertex/x", "api_key": text, "project": text, "location": text}),
        ]

    secret = Secret("sk-0123456789abcdef")

    def of_scrubbed(text: str) -> object:
        return secret.scrub(text), secret.scrub(f"{text}sk-01234567…")

    def of_proxies(text: str) -> object:
        variables = {"https_proxy": "http://proxy:1", "no_proxy": text}
        return environment_proxy("https://a.example", variables), is_exempt(f"https://{'a.' * 100}b", text)

    yield Reader("the head of a response", ("models/wire/connection.py",), of_head)
    yield Reader("headers of a response", ("models/wire/connection.py",), of_headers)
    yield Reader("the body of a response", ("models/wire/connection.py",), of_body)
    yield Reader("chunks of a response", ("models/wire/connection.py",), of_chunks)
    yield Reader("a packed response", ("models/exchange.py", "models/wire/route.py"), of_packed)
    yield Reader("the answer of a proxy", ("models/wire/dial.py",), of_tunnel)
    yield Reader("responses", ("models/wire/route.py", "models/retry.py"), of_responses)
    yield Reader("bodies of providers", ("models/dialects/dialect.py", "models/dialects/openai.py"), of_dialects)
    yield Reader(
        "names of models",
        ("models/families.py", "models/prices.py", "models/resolve.py", "models/families.py"),
        of_names,
    )
    yield Reader(
        "addresses and headers",
        ("models/environment.py", "models/settings.py", "models/wire/route.py", "models/providers.py"),
        of_addresses,
    )
    spelt = {
        "halves of a key": repeated("sk-0123456789abcd"),
        "escaped keys": repeated("sk\\u002d0123456789abcdef"),
        "percents of a key": repeated("%73k-0123"),
        "ellipses": repeated("sk-01234567…"),
        "base64": repeated("c2stMDEyMzQ1Njc4OWFiY2RlZg=="),
        "entities": repeated("&amp;"),
    }
    scrubbing = ("domain/secret.py", "domain/scrubber.py", "domain/scrubber.py")
    yield Reader("what is scrubbed", scrubbing, of_scrubbed, spelt)
    networks = {"networks": repeated("10.0.0.0/8,"), "hosts": repeated("a.b,"), "ports": repeated("[::1]:8,")}
    yield Reader("proxies of the environment", ("models/environment.py",), of_proxies, networks)


# Files


def files() -> Iterator[Reader]:  # noqa: C901 - a list
    """Read suites, profiles, prompts, exported runs, recorded replies and settings."""
    from evenhand.cli.settings import load_settings, read_env_file
    from evenhand.convert.case_table import case_in, fields_guessed, read_cases
    from evenhand.convert.conversion import convert
    from evenhand.domain.gates import Gates
    from evenhand.domain.scale import scale_of
    from evenhand.models.replay import recorded
    from evenhand.profiles.audit.design import AuditDesign
    from evenhand.profiles.sources import profiles_from
    from evenhand.store.location import without_password
    from evenhand.store.store import open_store
    from evenhand.store.transfer import import_lines
    from evenhand.suites.document import read_mapping
    from evenhand.suites.suite import check
    from evenhand.workspace.prompt_import import import_document

    folder = Path(tempfile.mkdtemp())
    store = open_store("sqlite://")

    def written(name: str, text: str) -> Path:
        path = folder / name
        path.write_text(text, encoding="utf-8", errors="replace", newline="")
        return path

    def with_cases(header: dict[str, Any]) -> str:
        usual = {"evaluators": [{"type": "contains", "value": "x"}], "cases": [{"id": "a", "output": "x"}]}
        return json.dumps(usual | header)

    def of_settings(text: str) -> object:
        headers = (
            {"judge": text},
            {"judge": {"model": "openai/x", "proxy": text}},
            {"judge": {"model": "openai/x", "base_url": text}},
            {"judge": {"model": "openai/x", "headers": {"authorization": text, text: "x"}}},
            {"judge": {"model": "openai/x", "api_key": text, "timeout": text, "ca_file": text}},
            {"target": {"command": [text], "env": {"A_KEY": text}}},
            {"target": {"python": text}},
            {"gates": {"min_pass_rate": text}, "thresholds": {"pass": text}, "name": text, text: 1},
            {"evaluators": [{"type": text, "name": text, "scale": text, "template": text}]},
            {"evaluators": [{"type": "regex", "pattern": text[:2000]}, {"type": "llm_judge", "rubrics": [text]}]},
            {"evaluators": [{"type": "code_judge", "command": [text], "config": {text: text}}]},
            {"cases": [{"id": text, "input": text, "criteria": text, "metadata": {text: text}, text: text}]},
            {
                "cases": [
                    {"id": "a", "output": text, "evaluation_schema": text, "input": [{"role": text, "content": text}]}
                ]
            },
        )
        return [check(written("suite.json", with_cases(header))) for header in headers]

    def of_suite(name: str) -> Callable[[str], object]:
        return lambda text: check(written(name, text))

    def of_yaml_values(text: str) -> object:
        value = "".join(character if character.isprintable() else " " for character in text)
        lines = f"evaluators: [{{type: contains, value: x}}]\ncases:\n- id: a\n  output: {value}\n- id: b\n  input: |\n    {value}\n"
        return check(written("values.yaml", lines))

    def of_cases(content: str) -> object:
        table = read_cases(content.encode("utf-8", "replace"))
        fields = fields_guessed(table.columns) or {"input": table.columns[0]}
        return [case_in(row, fields) for row in table.rows]

    def of_case_table(text: str) -> object:
        rows = (text, f"input,{text}\n{text},x\n", f"[{json.dumps({'vars': {text: text}, 'input': [text]})}]")
        return [tried(of_cases, content) for content in rows]

    def of_table(text: str) -> object:
        written("table.yaml", "evaluators: [{type: contains, value: x}]\ncolumns: {input: q}\ncases: table.csv\n")
        contents = (
            text,
            f"id,q,rubrics\n1,{text},x\n",
            f'id,q,cost\n1,"{text}",{text}\n',
            f"q,{text}\n",
            f"q\n{text}\n",
        )
        for content in contents:
            written("table.csv", content)
            check(folder / "table.yaml")
        header = {"cases": text, "columns": {"input": text, text: "q"}}
        return check(written("suite.json", with_cases(header)))

    def of_profiles(text: str) -> object:
        contents = {
            "p.csv": f"id,text\na,{text}\n",
            "p.jsonl": text,
            "q.jsonl": json.dumps({"id": "a", "text": text}),
        }
        return [tried(listed, written(name, content)) for name, content in contents.items()]

    def listed(path: Path) -> object:
        return list(profiles_from(path))

    def of_run(text: str) -> object:
        head = {
            "kind": "evenhand.run",
            "schema_version": 1,
            "run": {"id": text, "name": text, "definition": {text: text}},
        }
        for line in (text, json.dumps(head)):
            tried(import_lines, store, [line.encode("utf-8", "replace")], dry_run=True)
        return None

    def of_prompts(text: str) -> object:
        prompt = {"name": text, "content": text, "expected_schema": text, text: text, "test_cases": [{"input": text}]}
        tried(import_document, store, {"prompts": [prompt]}, dry_run=True)
        return tried(import_document, store, {text: text}, dry_run=True)

    def of_recorded(text: str) -> object:
        return recorded(str(written("replies.jsonl", text)))

    def of_environment(text: str) -> object:
        return read_env_file(written(".env", f"A={text}\nB='{text}\nC=\"{text}"))

    def of_configuration(text: str) -> object:
        (folder / "evenhand.toml").write_text(f"{text}\njudge = '{text}'\n", encoding="utf-8", errors="replace")
        return load_settings(folder, {"judge": str}, with_env_file=False)

    def of_design(text: str) -> object:
        factors = {text[:60]: [text, "b"], "sex": ["f", "m"]}
        design = {"template": text + "{{ sex }}", "factors": factors, "groups": [text], "criteria": text, text: text}
        return tried(AuditDesign.of, design), tried(AuditDesign.of, {"template": text})

    def of_content(text: str) -> object:
        written("content.md", text)
        blocks = ({"type": "file", "value": "content.md"}, {"type": text, "text": text}, {"text": text}, {text: [text]})
        messages = [{"role": "user", "content": [block]} for block in (*blocks, {"type": "image", "url": text})]
        many = {"role": "user", "content": [{"type": "text", "text": part} for part in text.split()]}
        case = {"id": "a", "output": "x", "input": [*messages, many], "expected_output": [*messages, many]}
        return check(written("content.json", with_cases({"cases": [case]})))

    def of_location(text: str) -> object:
        return [without_password(url) for url in (text, f"postgresql://{text}", f"postgresql://a:{text}@b/c?{text}")]

    def of_values(text: str) -> object:
        return tried(scale_of, text), tried(Gates.of, {"min_pass_rate": text, "max_unscored": text})

    def of_promptfoo(text: str) -> object:
        kinds = ("equals", "contains-any", "regex", "llm-rubric", "levenshtein", text[:60])
        test = {
            "description": text,
            "vars": {"q": text, text[:60]: "x"},
            "assert": [{"type": kind, "value": text, "metric": text} for kind in kinds],
        }
        whole = {"prompts": ["{{q}}", text], "providers": [text, {"id": text}], "tests": [test, text], text: text}
        written("table.csv", f"q,__expected\n{text},{text}\n")
        table = {"prompts": ["{{q}}"], "providers": ["openai:x"], "tests": "file://table.csv"}
        others = [tried(convert, written("p.json", json.dumps(each)), "promptfoo") for each in (whole, table)]
        return [*others, tried(convert, written("p.yaml", text)), tried(convert, written("p.csv", text))]

    def of_agentv(text: str) -> object:
        graders = [
            {"name": text, "type": "llm_judge", "prompt": text},
            {"type": "code_judge", "script": text},
            {"type": "rubric", "rubrics": [text, {"id": text, "outcome": text}]},
            {"type": "regex", "value": text[:2000], "flags": text},
            {"type": text},
            text,
        ]
        test = {"id": text, "criteria": text, "input": text, "expected_output": text, "assertions": graders, text: text}
        return tried(convert, written("a.json", json.dumps({"tests": [test], text: text})), "agentv")

    broken = {
        "nested flow": repeated("[a, "),
        "anchors": repeated("&a "),
        "block": between("a: |\n", "  b\n", ""),
        "keys": lambda size: "".join(f"k{number}: 1\n" for number in range(size // 8)),
        "list of ids": lambda size: "cases:\n" + "".join(f"- {{id: {number}}}\n" for number in range(size // 10)),
        "equal ids": lambda size: "cases:\n" + "- {id: a}\n" * (size // 10),
        "comments": repeated("#a\n"),
        "question marks": repeated("? "),
        "documents": repeated("---\n"),
        "tags": repeated("!a "),
    }
    cases = {
        "cases": lambda size: '{"id": "a", "output": "x"}\n' * (size // 26),
        "bad lines": repeated("{}\n"),
        "many keys": lambda size: json.dumps({str(number): number for number in range(size // 10)}),
    }
    reading_suites = ("suites/json_reader.py", "suites/cases.py", "suites/text_file.py")
    plain = {
        "plain cases": lambda size: "cases:\n" + "- id: a\n  input: b c\n" * (size // 22),
        "escapes": between('cases:\n- id: "', "\\\\", '"\n'),
        "words": between("cases:\n- id: a", " b", "\n"),
        "blank lines": between("cases:\n- id: a\n", "\n", "- id: b\n"),
        "keys of one case": between("cases:\n- id: a\n", "  a: b\n", ""),
        "lines before": between("a: b\n", "# c\n", "cases:\n- id: a\n"),
    }
    yield Reader("plain cases in YAML", ("suites/plain_yaml.py",), of_suite("suite.yaml"), plain)
    yield Reader("a suite in YAML", ("suites/yaml_reader.py", "suites/yaml_scalars.py"), of_suite("suite.yaml"), broken)
    yield Reader("values of a suite in YAML", ("suites/yaml_reader.py", "suites/yaml_scalars.py"), of_yaml_values)
    yield Reader("a suite in JSON", reading_suites, of_suite("whole.json"), cases)
    yield Reader("a suite in lines", reading_suites, of_suite("cases.jsonl"), cases)
    rows = {
        "rows": lambda size: "q\n" + "a\n" * (size // 2),
        "columns": lambda size: ",".join(f"k{number}" for number in range(size // 6)) + "\n",
        "equal columns": lambda size: "q," * (size // 2) + "\n",
        "quoted cells": lambda size: '"a",' * (size // 4) + "\n",
        "open cells": lambda size: 'q\n"' + "a\n" * (size // 2),
        "doubled quotes": lambda size: 'q\n"' + '""' * (size // 2) + '"\n',
        "patterns": lambda size: "*?[a]" * (size // 5),
    }
    yield Reader("a table", ("suites/tables.py", "suites/rows.py", "suites/document.py"), of_table, rows)
    yield Reader("test cases in a text", ("convert/case_table.py",), of_case_table, rows)
    yield Reader("content of messages", ("domain/message.py", "suites/text_file.py"), of_content)
    yield Reader(
        "settings of a suite",
        (
            "suites/checks.py",
            "suites/credentials.py",
            "suites/header.py",
            "suites/values.py",
            "engine/targets/command.py",
        ),
        of_settings,
    )
    yield Reader("profiles", ("profiles/sources.py", "domain/case.py"), of_profiles)
    yield Reader("an exported run", ("store/transfer.py", "store/import_validation.py"), of_run)
    yield Reader(
        "exported prompts", ("workspace/documents.py", "workspace/documents.py", "domain/prompt.py"), of_prompts
    )
    yield Reader("recorded replies", ("models/replay.py",), of_recorded)
    yield Reader("a file of variables", ("cli/settings.py",), of_environment)
    yield Reader(
        "a mapping file",
        ("suites/document.py",),
        lambda text: read_mapping(written("m.yaml", text), what="a mapping"),
    )
    yield Reader("settings of the user", ("cli/settings.py",), of_configuration)
    yield Reader("the design of an audit", ("profiles/audit/design.py",), of_design)
    reading_others = ("source", "asserts", "prompts", "tables", "targets")
    yield Reader("a file of promptfoo", tuple(f"convert/{name}.py" for name in reading_others), of_promptfoo)
    yield Reader("a file of AgentV", ("convert/agentv_graders.py",), of_agentv)
    yield Reader("the location of a database", ("store/location.py",), of_location)
    yield Reader("scales and gates", ("domain/scale.py", "domain/gates.py"), of_values)


# What is shown


def reports() -> Iterator[Reader]:
    """Write what came from outside so that it can be shown, and read what a browser sends."""
    from evenhand import Case, Contains, evaluate
    from evenhand.cli.runs.journal import _class
    from evenhand.engine.concurrency_limit import is_refusal
    from evenhand.reports.csv import cell
    from evenhand.reports.html.json_text import indented, judged_text
    from evenhand.reports.report import FORMATS
    from evenhand.reports.safe_text import escaped, plain
    from evenhand.reports.word_diff import word_diff
    from evenhand.server import json_slices
    from evenhand.server.api.bodies import JsonRequest
    from evenhand.server.api.prompts import schema_verdict
    from evenhand.server.runs import results
    from evenhand.server.runs.preview import Preview
    from evenhand.store.rows import dumps, loads

    def of_report(text: str) -> object:
        case = Case(id="a", question=text, candidate_answer=text, reference_answer=text, metadata={"a": text})
        run = evaluate([case], Contains(value=text or "x"), store=None)
        return [run.report(name) for name in FORMATS]

    def of_texts(text: str) -> object:
        shown = plain(text), plain(text, None), escaped(text, None), cell(text), _class(text), is_refusal(text)
        return shown, loads(dumps({"a": text}))

    def of_answers(text: str) -> object:
        other = text.replace(text[:1] or "a", "b c")
        return word_diff(text, text[::-1]), word_diff(text, other), word_diff(other, f"b {text} a")

    def of_json(text: str) -> object:
        return indented(text), judged_text(json.dumps([text, {text: [text]}]), [("$[0]", text)])

    def of_body(text: str) -> object:
        body = json.dumps({text: text, "a": [text]}).encode()

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def read() -> object:
            return await JsonRequest({"type": "http", "headers": []}, receive).json()

        return asyncio.run(read())

    def of_large_body(text: str) -> object:
        bodies = [
            text,
            f"[{text}",
            f"{{{text}",
            f'{{"a": [{text}]}}',
            f'[1, "{text}", [{text}]]',
            f"[[{text}], {text}]",
        ]
        return [tried(json_slices._parse_slices, f"[{body}]".encode(), 0) for body in bodies]

    def of_browser(text: str) -> object:
        draft = dict.fromkeys(("question", "answer", "reference", "criteria", "rubrics", "template", "scale"), text)
        draft |= {"model": "", "mode": "rubric", "score_from": "text", "rubric_mode": "joint", "evidence": ""}
        return tried(results.decode_cursor, text), schema_verdict(text, text), tried(Preview.of, draft)

    yield Reader(
        "a report",
        (
            "reports/markdown.py",
            "reports/html/markup.py",
            "reports/csv.py",
            "reports/junit.py",
            "reports/html/verbatim.py",
        ),
        of_report,
    )
    yield Reader(
        "texts that are shown",
        ("reports/safe_text.py", "store/rows.py", "cli/runs/journal.py", "engine/concurrency_limit.py"),
        of_texts,
    )
    yield Reader("JSON that is shown", ("reports/html/json_text.py",), of_json)
    yield Reader("two answers side by side", ("reports/word_diff.py",), of_answers)
    yield Reader("the body of a request", ("server/api/bodies.py",), of_body)
    yield Reader("a large body", ("server/json_slices.py",), of_large_body, {"strings": repeated('"a"')})
    yield Reader(
        "what a browser sends",
        ("server/runs/results.py", "server/api/prompts.py", "server/runs/preview.py"),
        of_browser,
    )


GROUPS = {
    "evaluators": evaluators,
    "checks": checks,
    "providers": providers,
    "files": files,
    "reports": reports,
}


def tried(read: Callable[..., object], *given: Any, **more: Any) -> object:
    """Read, and take a refusal for an answer: any other failure is one."""
    from evenhand.domain.errors import EvenhandError
    from evenhand.models.retry import TransportFault
    from evenhand.server.problems import Problem

    try:
        return read(*given, **more)
    except (EvenhandError, TransportFault, Problem) as refused:
        return refused


def texts_for(reader: Reader) -> dict[str, Callable[[int], str]]:
    """Return what a reader is given."""
    return HOSTILE | reader.own


def read_all(reader: Reader, size: int, texts: Mapping[str, Callable[[int], str]]) -> None:
    """Let a reader read texts of a size."""
    for make in texts.values():
        tried(reader.read, make(size))


def in_a_child(act: Callable[[], object]) -> int:
    """Do something in a child process, whose instructions are counted apart; return its number."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            act()
            status = 0
        finally:
            sys.stdout.flush()
            os._exit(status)
    _, ended = os.waitpid(child, 0)
    if ended:
        raise SystemExit(f"a child failed: {ended}")
    return child


def main() -> None:
    """Measure the readers of a group, or list them all; with a reader named too, measure its texts one by one."""
    if sys.argv[1:] == ["--list"]:
        known = {group: {reader.name: reader.modules for reader in readers(group)} for group in GROUPS}
        print(json.dumps(known))
        return
    group, *only = sys.argv[1:]
    n = SMALLEST_OF_SUSPECTS if only else SMALLEST
    gc.disable()
    measured = []
    for reader in readers(group):
        if only and reader.name not in only:
            continue
        read_all(reader, 50, texts_for(reader))  # what is loaded or compiled with the first use is no part of reading
        texts = texts_for(reader)
        for name in texts if only else [""]:
            chosen = {name: texts[name]} if name else texts
            children = [in_a_child(partial(read_all, reader, size, chosen)) for size in (1, n, 2 * n, 4 * n)]
            measured.append([reader.name, name, children])
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
