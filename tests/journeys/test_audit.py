"""A judge that is unfair in a known way is found out, from the design's file to the report (SPEC-K4).

Once by the library and once by the command line: both ask the judge the same, and come to the same numbers.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evenhand import Audit, ConfigError, Scripted, audit, score
from evenhand.cli.main import app

pytestmark = pytest.mark.slow

WEIGHTS = {"years": 1.2, "night": 0.8, "teaching": 0.5, "languages": 0.3, "city": 0.0, "name": -0.2}
DESIGN = """\
template: |
  {name} from {city}: a nurse for {years} years, {night}, {teaching}, {languages}.
factors:
  years: {low: 2, high: 12}
  night: {low: by day only, high: also at night}
  teaching: {low: has taught nobody, high: has taught many}
  languages: {low: speaks one language, high: speaks three languages}
  city: {low: Graz, high: Linz}
  name: {low: Anna, high: Ben}
groups: [name, city]
criteria: Experience as a nurse
repetitions: 1
select_at: 5
gates: {max_group_effect: 0.1, max_group_interaction: 0.1}
"""
HIGH = {
    "years": "12 years", "night": "also at night", "teaching": "has taught many", "languages": "three languages",
    "city": "Linz", "name": "Ben",
}  # fmt: skip


def judged(text: str) -> str:
    """Score by the weights, and take 0.6 more from Ben where he has taught."""
    (profile,) = re.findall(r"<profile id=\S+>\n(.*)\n</profile", text, re.DOTALL)
    has = {factor: sign in profile for factor, sign in HIGH.items()}
    points = (
        3 + sum(weight * has[factor] for factor, weight in WEIGHTS.items()) - 0.6 * (has["name"] and has["teaching"])
    )
    return json.dumps({"score": round(points, 6), "justification": "By the weights."})


@contextlib.contextmanager
def serving(reply: Callable[[str], str]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
            message = {"role": "assistant", "content": reply(messages[-1]["content"])}
            body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def by_library(path: Path) -> tuple[dict[str, Any], bool]:
    def judge(messages: list[dict[str, str]]) -> str:
        return judged(messages[-1]["content"])

    found = audit(path, judge=judge, store=path.parent / "e.db")
    again = Audit.open(store=path.parent / "e.db")
    again.save(path.parent / "audit.html")
    assert found.numbers == again.numbers
    return found.numbers.as_dict(), found.passed


def by_command(path: Path) -> tuple[dict[str, Any], bool]:
    with serving(judged) as url, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", url)
        patch.setenv("OPENAI_API_KEY", "none")
        patch.chdir(path.parent)
        argv = ["audit", path.name, "--judge", "openai/gpt-5-mini", "--json", "-o", "audit.html"]
        done = CliRunner().invoke(app, argv, prog_name="evenhand")
    assert done.exit_code in {0, 100}, done.stderr
    return json.loads(done.stdout)["audit"], done.exit_code == 0


@pytest.mark.parametrize("way", [by_library, by_command], ids=["library", "command"])
def test_what_was_planted_is_in_the_report(way: Callable[[Path], tuple[dict[str, Any], bool]], tmp_path: Path) -> None:
    path = tmp_path / "design.yaml"
    path.write_text(DESIGN)

    found, passed = way(path)

    effects = {one["name"]: one["estimate"] for one in found["effects"]}
    main = {factor: effects[f"{factor}: high − low"] for factor in WEIGHTS}
    # Half of the profiles have taught: on their average Ben loses 0.3 more, and having taught is worth 0.3 less.
    assert main == pytest.approx(WEIGHTS | {"name": -0.5, "teaching": 0.2}, abs=1e-6)
    assert effects["teaching × name: (high − low) × (high − low)"] == pytest.approx(-0.6, abs=1e-6)
    assert effects["years × name: (high − low) × (high − low)"] == pytest.approx(0, abs=1e-6)
    assert (found["profiles"], found["clusters"], found["failed"]) == (64, 64, 0)
    assert passed is False
    assert [(one["name"], one["ok"]) for one in found["gates"]] == [
        ("max_group_effect", False), ("max_group_interaction", False), ("equal_refusals", True),
    ]  # fmt: skip
    assert "it is not a legal certificate" in (tmp_path / "audit.html").read_text()


def test_a_run_that_is_no_audit_is_not_opened_as_one() -> None:
    judge = Scripted(['{"score": 7, "justification": "Strong."}'])
    scored = score(["A nurse."], criteria="Experience", judge=judge, store=None)

    with pytest.raises(ConfigError, match="is not an audit"):
        Audit(scored.run)
