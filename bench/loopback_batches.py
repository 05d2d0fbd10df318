"""A provider on loopback that speaks the batch protocols of OpenAI, Anthropic and Gemini, with their faults.

What it is asked is counted when a batch is accepted, since that is when it is paid for.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from evenhand.engine.token_estimate import JUDGMENT_TOKENS, tokens_in

Json = dict[str, Any]


@dataclass
class Faults:
    """What goes wrong, and how often."""

    lost_creations: int = 0
    refused_creations: int = 0
    limited_polls: int = 0
    hidden_in_lists: int = 0
    # By the number of the request in the first batch.
    errors: frozenset[int] = frozenset()
    missing: frozenset[int] = frozenset()
    expired: frozenset[int] = frozenset()
    refused: frozenset[int] = frozenset()
    invalid: frozenset[int] = frozenset()
    strange: bool = False
    shuffled: bool = False
    failed: bool = False


@dataclass
class Batch:
    """A batch as the provider has it."""

    id: str
    key: str
    requests: list[tuple[str, Json]]
    created: float = field(default_factory=time.time)
    polls: int = 0
    is_cancelled: bool = False


class BatchProvider:
    """The provider. ``asked`` counts the texts it accepted, ``polls`` how often it was asked how far a batch is."""

    def __init__(self) -> None:
        self.faults = Faults()
        self.batches: list[Batch] = []
        self.files: dict[str, bytes] = {}
        self.asked: Counter[str] = Counter()
        self.input_tokens = self.output_tokens = 0
        self.requests: list[str] = []
        self.single: list[Json] = []
        # Until it is set, no batch ends.
        self.finished = threading.Event()
        self.finished.set()
        # Until it is set, nobody hears of a batch that was created.
        self.creation_answered = threading.Event()
        self.creation_answered.set()
        self.results_read = 0
        # Until it is set, the second half of the results of a batch is held back.
        self.all_results = threading.Event()
        self.all_results.set()
        self._lock = threading.Lock()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer("GET")

            def do_POST(self) -> None:
                self._answer("POST")

            def _answer(self, method: str) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                with provider._lock:
                    provider.requests.append(f"{method} {self.path}")
                    status, content, headers = provider.respond(method, self.path, body)
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                if method == "POST" and "atch" in self.path:
                    provider.creation_answered.wait(60)
                self.send_response(status)
                for name, value in {"Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.path.endswith(("/content", "/results")) and not provider.all_results.is_set():
                    self.wfile.write(data[: len(data) // 2])
                    self.wfile.flush()
                    provider.results_read += 1
                    provider.all_results.wait(60)
                    return
                self.wfile.write(data)

            def handle(self) -> None:
                with contextlib.suppress(OSError):  # the other side was killed
                    super().handle()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.finished.set()
        self.all_results.set()
        self.creation_answered.set()
        self._server.shutdown()
        self._server.server_close()

    # What is asked

    def respond(self, method: str, path: str, body: bytes) -> tuple[int, Any, dict[str, str]]:
        path = path.partition("?")[0]
        if method == "GET" and re.search("batches/[^/]+$", path) and self.faults.limited_polls:
            self.faults.limited_polls -= 1
            return 429, {"error": {"message": "too many"}}, {"Retry-After": "0.01"}
        found = self._openai(method, path, body) or self._anthropic(method, path, body) or self._gemini(path, body)
        return found or (404, {"error": {"message": f"nothing is at {method} {path}"}}, {})

    def _create(self, key: str, requests: list[tuple[str, Json]], told: Callable[[Batch], Json]) -> Any:
        if self.faults.refused_creations:
            self.faults.refused_creations -= 1
            return 400, {"error": {"message": "the batch is not wanted"}}, {}
        batch = Batch(f"batches/{len(self.batches)}x" if key == "" else f"batch_{len(self.batches)}", key, requests)
        self.batches.append(batch)
        for number, (_, request) in enumerate(requests):
            first = len(self.batches) == 1
            if first and number in self.faults.errors | self.faults.missing | self.faults.expired | self.faults.refused:
                continue  # not answered, and not paid for
            text = text_of(request)
            self.asked[text] += 1
            self.input_tokens += sum(map(tokens_in, texts(request)))
            self.output_tokens += JUDGMENT_TOKENS
        if self.faults.lost_creations:
            self.faults.lost_creations -= 1
            return 500, {"error": {"message": "something broke"}}, {}
        return 200, told(batch), {}

    def _cancel(self, batch: Batch) -> None:
        """End a batch of which nothing was answered yet: nothing of it is paid for."""
        if not batch.is_cancelled and not self._is_over(batch):
            batch.is_cancelled = True
            self.asked -= Counter(text_of(request) for _, request in batch.requests)

    def _find(self, identity: str) -> Batch | None:
        return next((batch for batch in self.batches if batch.id == identity), None)

    def _listed(self) -> list[Batch]:
        if self.faults.hidden_in_lists:
            self.faults.hidden_in_lists -= 1
            return []
        return list(reversed(self.batches))

    def _is_over(self, batch: Batch) -> bool:
        return self.finished.is_set() or batch.is_cancelled

    def outcomes(self, batch: Batch) -> list[tuple[str, str, Json]]:
        """Return what became of the requests: id, kind, and the request."""
        rows = []
        for number, (identity, request) in enumerate(batch.requests):
            is_first = batch is self.batches[0]
            kind = "answered" if not batch.is_cancelled else "canceled"
            for name in ("errors", "missing", "expired", "refused", "invalid"):
                if is_first and number in getattr(self.faults, name):
                    kind = name
            if kind != "missing":
                rows.append((identity, kind, request))
        if self.faults.shuffled:
            random.Random(7).shuffle(rows)
        if self.faults.strange and rows:
            rows += [rows[0], ("nobody-0", "answered", rows[0][2]), ("", "answered", rows[0][2])]
        return rows

    # OpenAI

    def _openai(self, method: str, path: str, body: bytes) -> Any:
        if path == "/v1/chat/completions":
            self.single.append(json.loads(body))
            return 200, openai_reply(json.loads(body)), {}
        if path == "/v1/files":
            identity = f"file-{len(self.files)}"
            self.files[identity] = body.split(b"\r\n\r\n", 2)[2].rpartition(b"\r\n--")[0]
            return 200, {"id": identity, "object": "file"}, {}
        if path == "/v1/batches" and method == "POST":
            wanted = json.loads(body)
            assert (wanted["endpoint"], wanted["completion_window"]) == ("/v1/chat/completions", "24h")
            lines = [json.loads(line) for line in self.files[wanted["input_file_id"]].splitlines() if line]
            assert all((line["method"], line["url"]) == ("POST", "/v1/chat/completions") for line in lines)
            requests = [(line["custom_id"], line["body"]) for line in lines]
            return self._create(wanted["metadata"]["evenhand"], requests, self._openai_batch)
        if path == "/v1/batches":
            return 200, {"data": [self._openai_batch(batch) for batch in self._listed()], "has_more": False}, {}
        if found := re.fullmatch(r"/v1/batches/(\w+)(/cancel)?", path):
            batch = self._find(found[1])
            if batch is None:
                return None
            batch.polls += 1
            if found[2]:
                self._cancel(batch)
            return 200, self._openai_batch(batch), {}
        if found := re.fullmatch(r"/v1/files/(out|err)-(\w+)/content", path):
            batch = self._find(found[2])
            assert batch is not None
            rows = [openai_line(*row) for row in self.outcomes(batch)]
            wanted_rows = [row for row in rows if (row["error"] is None) == (found[1] == "out")]
            return 200, b"\n".join(json.dumps(row).encode() for row in wanted_rows) + b"\n", {}
        return None

    def _openai_batch(self, batch: Batch) -> Json:
        status = "cancelled" if batch.is_cancelled else "completed" if self._is_over(batch) else "in_progress"
        if self.faults.failed:
            status = "failed"
        files = (
            {"output_file_id": f"out-{batch.id}", "error_file_id": f"err-{batch.id}"} if self._is_over(batch) else {}
        )
        errors = {"data": [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}]}
        return {
            "id": batch.id, "object": "batch", "status": status, "created_at": int(batch.created),
            "metadata": {"evenhand": batch.key}, **files, **({"errors": errors} if status == "failed" else {}),
        }  # fmt: skip

    # Anthropic

    def _anthropic(self, method: str, path: str, body: bytes) -> Any:
        if path == "/v1/messages/batches" and method == "POST":
            requests = [(each["custom_id"], each["params"]) for each in json.loads(body)["requests"]]
            assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", identity) for identity, _ in requests)
            return self._create("none", requests, self._anthropic_batch)
        if path == "/v1/messages/batches":
            return 200, {"data": [self._anthropic_batch(batch) for batch in self._listed()], "has_more": False}, {}
        if found := re.fullmatch(r"/v1/messages/batches/(\w+)(/\w+)?", path):
            batch = self._find(found[1])
            if batch is None:
                return None
            if found[2] == "/results":
                rows = [anthropic_line(*row) for row in self.outcomes(batch)]
                return 200, b"".join(json.dumps(row).encode() + b"\n" for row in rows), {}
            batch.polls += 1
            if found[2] == "/cancel":
                self._cancel(batch)
            return 200, self._anthropic_batch(batch), {}
        return None

    def _anthropic_batch(self, batch: Batch) -> Json:
        over = self._is_over(batch)
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(batch.created))
        counts = {"processing": 0 if over else len(batch.requests), "succeeded": len(batch.requests) if over else 0}
        status = "ended" if over else "in_progress"
        return {
            "id": batch.id, "type": "message_batch", "processing_status": status, "created_at": created,
            "request_counts": counts, "results_url": "https://elsewhere.example/results" if over else None,
        }  # fmt: skip

    # Gemini

    def _gemini(self, path: str, body: bytes) -> Any:
        if path.endswith(":batchGenerateContent"):
            wanted = json.loads(body)["batch"]
            each = wanted["input_config"]["requests"]["requests"]
            requests = [(one["metadata"]["key"], one["request"]) for one in each]
            return self._create(wanted["display_name"], requests, self._gemini_batch)
        if path == "/v1beta/batches":
            return 200, {"operations": [self._gemini_batch(batch) for batch in self._listed()]}, {}
        if found := re.fullmatch(r"/v1beta/batches/(\w+)(:cancel)?", path):
            batch = self._find(found[1])
            if batch is None:
                return None
            batch.polls += 1
            if found[2]:
                self._cancel(batch)
            return 200, self._gemini_batch(batch), {}
        return None

    def _gemini_batch(self, batch: Batch) -> Json:
        over = self._is_over(batch)
        state = "BATCH_STATE_SUCCEEDED" if over else "BATCH_STATE_RUNNING"
        said: Json = {"name": f"batches/{batch.id}", "metadata": {"displayName": batch.key, "state": state}}
        if over:
            rows = [gemini_line(*row) for row in self.outcomes(batch)]
            said |= {"done": True, "response": {"inlinedResponses": {"inlinedResponses": rows}}}
        return said


def texts(request: Json) -> list[str]:
    """Return the texts of a request, of all three dialects; what is in blocks is one text."""
    found = [joined(message["content"]) for message in request.get("messages", ())]
    found += [joined(content["parts"]) for content in request.get("contents", ())]
    found += [joined(request["system"])] if "system" in request else []
    found += [joined(request["systemInstruction"]["parts"])] if "systemInstruction" in request else []
    return found


def joined(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def text_of(request: Json) -> str:
    return "\n".join(texts(request))


def verdict(request: Json, kind: str) -> Json:
    score = hashlib.sha256(text_of(request).encode()).digest()[0] % 11 / 10
    good = {"score": score, "hits": [], "misses": [], "reasoning": "Read."}
    return {"nothing": "of use"} if kind == "invalid" else good


def openai_reply(request: Json, kind: str = "answered") -> Json:
    usage = {"prompt_tokens": sum(map(tokens_in, texts(request))), "completion_tokens": JUDGMENT_TOKENS}
    message = {"role": "assistant", "content": json.dumps(verdict(request, kind))}
    return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage, "model": request["model"]}


def openai_line(identity: str, kind: str, request: Json) -> Json:
    body, status, error = openai_reply(request, kind), 200, None
    if kind in ("expired", "canceled"):
        error = {"code": "batch_expired", "message": "This request could not be executed before the deadline."}
        return {"custom_id": identity, "response": None, "error": error}
    if kind == "errors":
        body, status = {"error": {"message": "The server had an error", "type": "server_error"}}, 500
    if kind == "refused":
        body, status = {"error": {"message": "content is too long", "code": "context_length_exceeded"}}, 400
    return {"custom_id": identity, "response": {"status_code": status, "body": body}, "error": error}


def anthropic_line(identity: str, kind: str, request: Json) -> Json:
    usage = {"input_tokens": sum(map(tokens_in, texts(request))), "output_tokens": JUDGMENT_TOKENS}
    block = {"type": "tool_use", "name": "reply", "input": verdict(request, kind)}
    message = {"type": "message", "content": [block], "stop_reason": "tool_use", "usage": usage}
    result: Json = {"type": "succeeded", "message": message}
    if kind in ("expired", "canceled"):
        result = {"type": kind}
    if kind in ("errors", "refused"):
        name = "api_error" if kind == "errors" else "invalid_request_error"
        result = {"type": "errored", "error": {"type": "error", "error": {"type": name, "message": "no"}}}
    return {"custom_id": identity, "result": result}


def gemini_line(identity: str, kind: str, request: Json) -> Json:
    counts = {"promptTokenCount": sum(map(tokens_in, texts(request))), "candidatesTokenCount": JUDGMENT_TOKENS}
    parts = [{"text": json.dumps(verdict(request, kind))}]
    content = {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}], "usageMetadata": counts}
    row: Json = {"metadata": {"key": identity}}
    if kind in ("expired", "canceled"):
        return row
    if kind in ("errors", "refused"):
        return row | {"error": {"code": 13 if kind == "errors" else 3, "message": "no"}}
    return row | {"response": content}
