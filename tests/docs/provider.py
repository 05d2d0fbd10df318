"""A provider that stands for all of them where the documentation runs: ``python provider.py FOLDER``.

It is a proxy too. Whatever address a model has, its request ends here, over TLS with a certificate of an authority that
the provider makes for itself and writes into the folder. When it is ready, it prints its port.

As a judge it is simple and always of the same opinion: an answer is good if it has half of the words of the reference
answer (of the expected outcome or the criteria, if there is none), or if there is nothing to hold it against. Good is
0.9 of the scale, bad is 0.2.
Of two answers the longer one is better; of several profiles, the one with more words of the criteria, and then the
longer one. Asked for no judgment, it knows a capital or two.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import ssl
import sys
from pathlib import Path
from typing import Any

import trustme

ANSWERS = {"France": "The capital of France is Paris.", "Peru": "The capital of Peru is Lima."}
SHORT_NAMES = {
    "expected_outcome": "Expected outcome",
    "reference_answer": "Reference answer",
    "candidate_answer": "Answer",
    "profile": "Profile",
    "criteria": "Criteria",
    "answer_a": "Answer A",
    "answer_b": "Answer B",
}
AUTHORITY = trustme.CA()
BODY_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)

Json = dict[str, Any]


class Question:
    """What a request asks, in whichever dialect: the prompts, the schema of the reply, the words of the answer."""

    def __init__(self, body: Json) -> None:
        self.text = "\n\n".join(texts(body.get("system"), body.get("systemInstruction"), messages(body)))
        self.schema = schema_of(body) or self._schema_in_words()
        self.asks_for_tokens = bool(body.get("top_logprobs") or body.get("generationConfig", {}).get("logprobs"))
        self.answer = self._section("candidate_answer") or self._section("profile")
        wanted = self._section("reference_answer") or self._section("expected_outcome") or self._section("criteria")
        self.is_good = not wanted or 2 * len(words(wanted) & words(self.answer)) >= len(words(wanted))

    def _section(self, name: str) -> str:
        found = re.search(rf'<{name} id="(\w+)">\n(?P<text>.*?)\n</{name} id="\1">', self.text, re.DOTALL)
        # Where only the first word of the reply counts, prompts are shorter.
        short = rf"^{SHORT_NAMES[name]}: (?P<text>.*?)\n[a-p]{{12,}}$"
        found = found or re.search(short, self.text, re.MULTILINE | re.DOTALL)
        return found["text"] if found else ""

    @property
    def winner(self) -> str:
        """Tell which of two answers is better."""
        first, second = len(self._section("answer_a")), len(self._section("answer_b"))
        return "tie" if first == second else "A" if first > second else "B"

    @property
    def order(self) -> list[str]:
        """Put the profiles of a group in order, by their letters."""
        shown = re.findall(r'<profile_([A-Z]) id="(\w+)">\n(.*?)\n</profile_\1 id="\2">', self.text, re.DOTALL)
        wanted = words(self._section("criteria"))
        return [label for label, _, text in sorted(shown, key=lambda one: (-len(wanted & words(one[2])), -len(one[2])))]

    def _schema_in_words(self) -> Json | None:
        """Read the contract out of the prompt, where the provider is given no schema."""
        keys = re.findall(r'^- "(\w+)": (.+)$', self.text.rpartition("Its keys are:")[2], re.MULTILINE)
        return {"type": "object", "properties": {key: self._kind_of(told) for key, told in keys}} if keys else None

    def _kind_of(self, told: str) -> Json:
        if "exactly one object for each item" in told:
            ids = [json.loads(found) for found in re.findall(r'^- id (".*?"): ', self.text, re.MULTILINE)]
            return {"type": "array", "items": {"properties": {"id": {"enum": ids}, "satisfied": {"type": "boolean"}}}}
        kinds = {"a list": "array", "a number": "number", "an integer": "number", "true or false": "boolean"}
        return {"type": next((kind for start, kind in kinds.items() if told.startswith(start)), "string")}

    def reply(self) -> str:
        """Return a reply that keeps the contract."""
        if self.asks_for_tokens:
            return max(self.tokens().items(), key=lambda one: one[1])[0]
        if self.schema is None:
            return next((answer for about, answer in ANSWERS.items() if about in self.text), "I do not know.")
        return json.dumps(self._value("", self.schema))

    def tokens(self) -> dict[str, float]:
        """Return the words with which the reply might begin, and how probable they are."""
        if "Which answer is better, A or B?" in self.text:
            first = {"A": 0.9, "B": 0.1}.get(self.winner, 0.5)
            return {"A": first, "B": 1 - first}
        if found := re.search(r"an integer from (\d) to (\d)", self.text):
            best, other = found.group(2, 1) if self.is_good else found.group(1, 2)
        else:
            best, other = ("yes", "no") if self.is_good else ("no", "yes")
        return {best: 0.9, other: 0.1}

    def _value(self, name: str, schema: Json) -> Any:
        if name == "winner":
            return self.winner
        if name == "order":
            return self.order
        if "enum" in schema:
            numbers = [one for one in schema["enum"] if isinstance(one, (int, float))]
            return schema["enum"][0] if not numbers else max(numbers) if self.is_good else min(numbers)
        if "properties" in schema:
            return {key: self._value(key, one) for key, one in schema["properties"].items()}
        match schema.get("type"):
            case "array":
                return self._list(name, schema.get("items", {}))
            case "boolean":
                return self.is_good
            case "number" | "integer":
                return self._number(name)
            case _:
                return self._words(name)

    def _list(self, name: str, item: Json) -> list[Any]:
        kinds = [kind for kind in item.get("anyOf", [item]) if kind.get("properties", {}).get("id", {}).get("enum")]
        if kinds:  # one finding for each id
            return [
                {**self._value(name, kind), "id": one} for kind in kinds for one in kind["properties"]["id"]["enum"]
            ]
        if name in {"hits", "misses"} and self.is_good is (name == "misses"):
            return []
        return [self._value(name, item)]

    def _number(self, name: str) -> float:
        found = re.findall(rf'"{name}": (?:a number|an integer) from (\S+) to ([\d.]+\d|\d)', self.text)
        low, high = (float(bound) for bound in found[-1]) if found else (0.0, 1.0)
        return round(low + (0.9 if self.is_good else 0.2) * (high - low), 6)

    def _words(self, name: str) -> str:
        match name:
            case "evidence":
                return self.answer
            case "hits":
                return "says what is wanted"
            case "misses":
                return "does not say what is wanted"
        return "It says what is wanted." if self.is_good else "It does not say what is wanted."


def messages(body: Json) -> list[Any]:
    return [*body.get("messages", ()), *body.get("contents", ())]


def texts(*given: Any) -> list[str]:
    """Collect the texts of messages, parts and blocks, however they are nested."""
    found: list[str] = []
    for one in given:
        match one:
            case str():
                found.append(one)
            case list():
                found += texts(*one)
            case dict():
                found += texts(*(one[key] for key in ("content", "parts", "text") if key in one))
    return found


def words(text: str) -> set[str]:
    """Return the words that matter: numbers, and what is longer than articles are."""
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 3 or word.isdigit()}


def schema_of(body: Json) -> Json | None:
    """Find the schema of the reply, where the four dialects have it."""
    places = [
        body.get("response_format", {}).get("json_schema", {}).get("schema"),
        *(tool.get("input_schema") for tool in body.get("tools", ())),
        body.get("generationConfig", {}).get("responseJsonSchema"),
        body.get("format"),
    ]
    return next((place for place in places if isinstance(place, dict)), None)


def response(path: str, body: Json) -> Json:
    """Say what the question wants in the dialect of the path."""
    question = Question(body)
    said = question.reply()
    asked, answered = len(question.text) // 4, len(said) // 4 + 1
    tokens = [{"token": word, "logprob": math.log(share)} for word, share in question.tokens().items()]
    if path.endswith("/v1/messages"):
        block: Json = {"type": "text", "text": said}
        if tools := body.get("tools"):
            block = {"type": "tool_use", "id": "call", "name": tools[0]["name"], "input": json.loads(said)}
        usage = {"input_tokens": asked, "output_tokens": answered}
        return {"type": "message", "role": "assistant", "content": [block], "stop_reason": "end_turn", "usage": usage}
    if path.endswith(":generateContent"):
        candidate: Json = {"content": {"role": "model", "parts": [{"text": said}]}, "finishReason": "STOP"}
        if question.asks_for_tokens:
            top = [{"token": one["token"], "logProbability": one["logprob"]} for one in tokens]
            candidate["logprobsResult"] = {"topCandidates": [{"candidates": top}]}
        counts = {"promptTokenCount": asked, "candidatesTokenCount": answered}
        return {"candidates": [candidate], "usageMetadata": counts}
    message = {"role": "assistant", "content": said}
    first = [{**tokens[0], "top_logprobs": tokens}] if question.asks_for_tokens else None
    if path.endswith("/api/chat"):
        done = {"done": True, "done_reason": "stop", "prompt_eval_count": asked, "eval_count": answered}
        return {"model": body.get("model"), "message": message, **done, **({"logprobs": first} if first else {})}
    choice: Json = {"index": 0, "message": message, "finish_reason": "stop"}
    if first:
        choice["logprobs"] = {"content": first}
    usage = {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}
    return {"object": "chat.completion", "model": body.get("model"), "choices": [choice], "usage": usage}


# Files and batches of OpenAI's, by their ids. A batch is done as soon as it is made.
FILES: dict[str, list[Json]] = {}
BATCHES: dict[str, Json] = {}


def batch_response(method: str, path: str, body: bytes) -> Json | bytes | None:
    """Answer a request about files and batches; None if it is about something else."""
    if method == "POST" and path.endswith("/v1/files"):
        content = body.split(b"\r\n\r\n", 2)[2].rpartition(b"\r\n--")[0]
        FILES[f"file-{len(FILES)}"] = [json.loads(line) for line in content.splitlines() if line]
        return {"id": f"file-{len(FILES) - 1}"}
    if method == "POST" and path.endswith("/v1/batches"):
        wanted = json.loads(body)
        made = {"id": f"batch_{len(BATCHES)}", "status": "completed", "output_file_id": wanted["input_file_id"]}
        BATCHES[made["id"]] = made | {"metadata": wanted["metadata"]}
        return BATCHES[made["id"]]
    if found := re.search(r"/v1/batches/(\w+)$", path):
        return BATCHES[found[1]]
    if found := re.search(r"/v1/files/([\w-]+)/content$", path):
        lines = [
            {"custom_id": one["custom_id"], "error": None}
            | {"response": {"status_code": 200, "body": response("/v1/chat/completions", one["body"])}}
            for one in FILES[found[1]]
        ]
        return b"\n".join(json.dumps(line).encode() for line in lines)
    return None


async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request after the other; a wish to be connected elsewhere is granted, and leads back here."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            method, path, _ = head.decode("latin-1").partition("\r\n")[0].split(" ", 2)
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
                await writer.start_tls(as_host(path.rpartition(":")[0]))
                continue
            length = BODY_LENGTH.search(head)
            body = await reader.readexactly(int(length[1])) if length else b""
            status = "404 Not Found"
            content: Json | bytes = {"error": {"message": f"nothing is at {method} {path} here"}}
            if (batched := batch_response(method, path.partition("?")[0], body)) is not None:
                status, content = "200 OK", batched
            elif method == "POST":
                status, content = "200 OK", response(path.partition("?")[0], json.loads(body))
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            start = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
            writer.write(start.encode() + data)
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


def as_host(name: str) -> ssl.SSLContext:
    """Make what it takes to pass for a host."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    AUTHORITY.issue_cert(name).configure_cert(context)
    return context


async def serve(folder: Path) -> None:
    AUTHORITY.cert_pem.write_to_path(str(folder / "authority.pem"))
    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
