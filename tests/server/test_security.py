"""Who may ask what: every route by every method, name, origin and token, against an oracle of ten lines (REL-W1 to W7)."""

from __future__ import annotations

import asyncio
import html
import itertools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from fastapi.testclient import TestClient

from evenhand.domain.errors import ConfigError
from evenhand.domain.secret import Secret
from evenhand.server.app import make_app
from evenhand.server.security import HEADERS, OPEN, SESSION_COOKIE, guard
from evenhand.server.settings import ServerSettings

TOKEN = "a-token-that-nobody-guesses"
PUBLIC = "evals.example:8642"
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND")
SAFE = ("GET", "HEAD", "OPTIONS")
ORIGINS = ("none", "null", "evil", "own")
TOKENS = ("none", "wrong", "right")
SOME = ("/", "/static/theme.js", "/runs/new", "/api/prompts/nobody")
Some: TypeAlias = tuple[str, ...] | None


class Asked(NamedTuple):
    """A request."""

    method: str
    path: str
    host: str
    origin: str
    token: str


class Known(NamedTuple):
    """What is known of a path: its methods, and which of them need no token anywhere."""

    methods: set[str]
    is_open: bool


def oracle(asked: Asked, known: Known, *, hosts: set[str], public: bool) -> set[int]:
    changes, api = asked.method not in SAFE, asked.path.startswith("/api/")
    if asked.host not in hosts:
        return {421}
    if asked.method in ("TRACE", "PROPFIND"):
        return {405}
    if asked.origin in ("null", "evil") and (changes or api):
        return {403}
    if asked.method not in known.methods:
        return {405}
    if not known.is_open and (changes or public) and asked.token != "right":
        return {401} if changes or api else {303}
    return {200, 201, 202, 204, 303, 404, 409, 422} | ({401} if asked.path == "/login" else set())


def routes(app: FastAPI) -> dict[str, Known]:
    """Return all paths, with something for each part that is open; the methods are those of all routes that match it."""
    contexts = [route for route in iter_route_contexts(app.routes) if route.name != "static"]
    found = {"/static/theme.js": Known({"GET", "HEAD"}, is_open=True)}
    for route in contexts:
        path = re.sub(r"{(\w+)(:path)?}", _part, str(route.path))
        matching = [one for one in contexts if re.fullmatch(re.sub(r"{[^}]*}", "[^/]+", str(one.path)), path)]
        methods = {method for one in matching for method in one.methods or ()}
        found[path] = Known(methods | ({"HEAD"} if "GET" in methods else set()), route.name in OPEN)
    return found


def _part(found: re.Match[str]) -> str:
    return {"version": "1", "position": "0", "ending": "json"}.get(found[1], "nobody")


async def answered(app: FastAPI, asked: Asked, *, body: bytes = b"") -> tuple[int, dict[str, str]]:
    """Ask the application itself, and give the status and the headers."""
    own = {"none": None, "null": "null", "evil": "http://evil.example", "own": f"http://{asked.host}"}[asked.origin]
    token = {"none": None, "wrong": "Bearer wrong", "right": f"Bearer {TOKEN}"}[asked.token]
    given = {"host": asked.host, "origin": own, "authorization": token, "content-type": "application/json"}
    path = asked.path.partition("?")[0]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": asked.method, "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8642),
        "headers": [(name.encode(), value.encode()) for name, value in given.items() if value is not None],
    }  # fmt: skip
    sent: list[Any] = []
    waiting = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Any:
        return next(waiting, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    headers = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers


def requests(known: dict[str, Known], hosts: tuple[str, ...], right: set[str], some: Some) -> Iterator[Asked]:
    """Yield everything on some paths, and on all others, by their own methods, what is right or one thing wrong.

    Without ``some``, everything on all paths; but a name that is wrong, on most of them, with nothing else wrong.
    """
    own, wrong = hosts[1], hosts[0]
    alone = {(own, "own", "right"), (wrong, "own", "right"), (own, "evil", "right"), (own, "none", "none")}
    for one in itertools.starmap(Asked, itertools.product(METHODS, known, hosts, ORIGINS, TOKENS)):
        if some is None:
            is_asked = one.host in right or one.path in SOME or (one.origin, one.token) == ("own", "right")
        else:
            is_asked = one.path in some or (one.method in known[one.path].methods and one[2:] in alone)
        if is_asked:
            yield one


def differences(app: FastAPI, hosts: tuple[str, ...], right: set[str], some: Some, *, public: bool) -> Iterator[str]:
    known = routes(app)
    assert some is None or set(some) <= set(known)

    async def all_of_them() -> list[tuple[Asked, int, dict[str, str]]]:
        async with app.router.lifespan_context(app):
            return [(asked, *await answered(app, asked)) for asked in requests(known, hosts, right, some)]

    for asked, status, headers in asyncio.run(all_of_them()):
        if status not in oracle(asked, known[asked.path], hosts=right, public=public):
            yield f"{asked}: {status}"
        if status == 405 and set(headers["allow"].split(", ")) != known[asked.path].methods:
            yield f"{asked}: allows {headers['allow']}"
        if missing := [name for name, value in HEADERS.items() if headers.get(name) != value]:
            yield f"{asked}: no {missing}"
        if any(name.startswith("access-control-") for name in headers):
            yield f"{asked}: shared with other sites"


paths = pytest.mark.parametrize("some", [SOME, pytest.param(None, marks=pytest.mark.long)], ids=["some", "all"])


@pytest.mark.slow
@paths
@pytest.mark.usefixtures("documented")
def test_every_route_asks_for_name_origin_and_token(app: FastAPI, some: Some) -> None:
    hosts = ("evil.example:8642", "localhost:8642", "[::1]:8642", "localhost.:8642", "localhost:1", "localhost")

    assert list(differences(app, hosts, {"localhost:8642", "[::1]:8642"}, some, public=False)) == []


@pytest.mark.slow
@paths
@pytest.mark.usefixtures("documented")
def test_beyond_this_machine_every_route_asks_for_the_token_always(settings: ServerSettings, some: Some) -> None:
    settings = ServerSettings(
        db=settings.db, token=Secret(TOKEN), host="0.0.0.0", names=("Evals.example",),
        changes_a_minute=1_000_000,
    )  # fmt: skip
    hosts = ("evil.example:8642", PUBLIC, "evals.example", "evals.example.", "evals.example:1")

    assert list(differences(make_app(settings), hosts, {PUBLIC, "evals.example"}, some, public=True)) == []


def test_the_routes_that_need_no_token_are_these(app: FastAPI) -> None:
    found = {(route.path, route.name) for route in iter_route_contexts(app.routes) if route.name in OPEN}

    named = {("/api/health", "health"), ("/api/ready", "ready")}
    assert found == {("/static", "static"), ("/login", "login"), *named}


def test_every_route_stands_behind_the_guard(app: FastAPI) -> None:
    """A route that the framework adds by itself would not, nor one of a router that is made in another way."""
    found = [route.original_route for route in iter_route_contexts(app.routes)]
    unguarded = [
        route.path for route in found if isinstance(route, APIRoute) and route.dependant.dependencies[0].call != guard
    ]

    assert {type(route).__name__ for route in found} == {"APIRoute", "JsonRoute", "TableRoute", "Mount"}
    assert unguarded == []


def test_a_change_from_the_page_of_another_site_is_refused_by_what_browsers_say(client: TestClient) -> None:
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 201), ("none", 201)):
        answer = client.post("/api/prompts", json={"name": f"p {site}"}, headers={"sec-fetch-site": site})

        assert answer.status_code == status


def test_a_form_shows_the_token_in_a_field(strangers: TestClient) -> None:
    right = strangers.post("/prompts/new", data={"token": TOKEN, "name": "p", "content": "", "evaluation_mode": "llm"})
    wrong = strangers.post("/prompts/new", data={"token": "wrong", "name": "q"})
    no_form = strangers.post("/api/prompts", json={"token": TOKEN, "name": "q"})
    no_page = strangers.post("/api/prompts", data={"token": TOKEN, "name": "q"})

    assert right.status_code == 303
    assert (wrong.status_code, no_form.status_code, no_page.status_code) == (401, 401, 401)


def test_a_wrong_token_is_told_from_none(strangers: TestClient) -> None:
    def title(**sent: Any) -> str:
        return str(strangers.post("/api/prompts", **sent).json()["title"])

    by_header = [title(json={"name": "p"}, headers={"authorization": one}) for one in ("Bearer wrong", "Basic x", "x")]
    none = title(json={"name": "p", "token": "wrong"})
    wrong_form = strangers.post("/prompts/new", data={"token": "wrong", "name": "q"})
    no_form = strangers.post("/prompts/new", data={"name": "q"})

    assert by_header == ["Wrong token"] * 3
    assert none == "Missing token"
    assert ("Wrong token" in wrong_form.text, "Missing token" in no_form.text) == (True, True)


def test_who_logs_in_sees_pages_and_changes_nothing_by_the_cookie_alone(tmp_path: Any) -> None:
    settings = ServerSettings(db=str(tmp_path / "e.db"), token=Secret(TOKEN), host="0.0.0.0", names=("evals.example",))
    with TestClient(make_app(settings), base_url="https://evals.example", follow_redirects=False) as client:
        before = client.get("/")
        wrong = client.post("/login", data={"token": "wrong"})
        right = client.post("/login", data={"token": TOKEN})
        after = client.get("/")
        api = client.get("/api/prompts")
        changed = client.post("/api/prompts", json={"name": "p"})
        shown = client.get("/login").text

    cookie = right.headers["set-cookie"]
    assert (before.status_code, before.headers["location"]) == (303, "/login")
    assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)
    assert right.status_code == 303
    assert all(part in cookie for part in (f"{SESSION_COOKIE}=", "HttpOnly", "SameSite=strict", "Secure"))
    assert TOKEN not in cookie
    assert (after.status_code, api.status_code, changed.status_code) == (200, 200, 401)
    assert TOKEN not in shown


@pytest.fixture
def public(tmp_path: Any) -> Iterator[TestClient]:
    """A server for other machines, which asks for the token."""
    settings = ServerSettings(db=str(tmp_path / "e.db"), token=Secret(TOKEN), host="0.0.0.0", names=("evals.example",))
    with TestClient(make_app(settings), base_url="https://evals.example", follow_redirects=False) as client:
        yield client


def test_who_logs_in_comes_to_the_page_that_was_asked_for(public: TestClient) -> None:
    asked = public.get("/prompts?q=a%26b&start=0")
    shown = public.get(asked.headers["location"])
    following = html.unescape(re.findall('name="next" value="([^"]*)"', shown.text)[0])
    wrong = public.post("/login", data={"token": "wrong", "next": following})
    right = public.post("/login", data={"token": TOKEN, "next": following})

    assert asked.status_code == 303
    assert asked.headers["location"].startswith("/login?next=%2Fprompts")
    assert 'name="next"' in wrong.text
    assert (right.status_code, right.headers["location"]) == (303, "/prompts?q=a%26b&start=0")


@pytest.mark.parametrize(
    "following",
    [
        "https://evil.example/", "//evil.example/", "/\\evil.example", "\\\\evil.example", "javascript:alert(1)", "evil.example",
        "/a\r\nset-cookie: a=b", "/\tb", "", " /prompts", "http:/evil.example", "/x\\@evil.example",
    ],
)  # fmt: skip
def test_a_login_leads_to_no_other_site(public: TestClient, following: str) -> None:
    answer = public.post("/login", data={"token": TOKEN, "next": following})

    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_who_logs_out_has_to_log_in_again(public: TestClient) -> None:
    public.post("/login", data={"token": TOKEN})
    page = public.get("/prompts")
    token = re.findall('action="/logout"><input type="hidden" name="token" value="([^"]*)"', page.text)[0]
    foreign = public.post("/logout", data={"token": token}, headers={"origin": "https://evil.example"})
    without = public.post("/logout")
    still = public.get("/prompts").status_code
    out = public.post("/logout", data={"token": token})

    assert (foreign.status_code, without.status_code, still) == (403, 401, 200)
    assert (out.status_code, out.headers["location"]) == (303, "/login")
    assert public.get("/prompts").status_code == 303


def test_on_this_machine_alone_nobody_logs_out(client: TestClient) -> None:
    assert "/logout" not in client.get("/prompts").text


def test_the_headers_are_on_files_on_errors_and_on_crashes(strangers: TestClient, app: FastAPI) -> None:
    app.state.summary_cache = None  # so that something breaks
    answers = [
        strangers.get(path) for path in ("/static/app.css", "/static/nobody", "/nobody", "/api/nobody", "/api/runs")
    ]
    app.state.store.runs = None
    broken = strangers.get("/api/runs")

    for answer in (*answers, broken):
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    assert [answer.status_code for answer in answers[:4]] == [200, 404, 404, 404]
    assert broken.status_code == 500
    assert broken.json() == {
        "type": "about:blank", "status": 500, "title": "Internal server error", "detail": "see the server's log",
    }  # fmt: skip


def test_a_host_is_known_however_it_is_spelt(tmp_path: Any) -> None:
    settings = ServerSettings(db=str(tmp_path / "e.db"), token=Secret(TOKEN), host="Judges.example", port=80)
    with TestClient(make_app(settings), base_url="http://judges.example") as client:
        answer = client.get("/api/health")

    assert answer.status_code == 200


def test_a_name_of_somebody_else_that_leads_here_is_refused(client: TestClient) -> None:
    answer = client.get("/api/health", headers={"host": "evil.example:8642"})

    assert answer.status_code == 421
    assert answer.json()["title"] == "Unknown host"


def test_a_token_must_be_long() -> None:
    with pytest.raises(ConfigError, match="fewer than 16 characters"):
        ServerSettings(db="x", token=Secret("short"))


def test_clients_that_change_too_much_are_told_to_wait(tmp_path: Any) -> None:
    settings = ServerSettings(db=str(tmp_path / "e.db"), token=Secret(TOKEN), changes_a_minute=3)
    headers = {"authorization": f"Bearer {TOKEN}"}
    with TestClient(make_app(settings), base_url="http://localhost:8642", headers=headers) as client:
        made = [client.post("/api/prompts", json={"name": f"p{number}"}) for number in range(4)]
        read = client.get("/api/prompts")

    assert [answer.status_code for answer in made] == [201, 201, 201, 429]
    assert 1 <= int(made[3].headers["retry-after"]) <= 20
    assert read.status_code == 200
