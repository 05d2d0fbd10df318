"""Settings from flags, the environment and files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from evenhand.cli.main import app
from evenhand.cli.options import DB, KINDS, SETTINGS, variable_of
from evenhand.cli.settings import load_settings, problem_of
from evenhand.domain.errors import ConfigError
from evenhand.store.location import without_password
from evenhand.store.store import DEFAULT_URL

# What has to be typed each time: it confirms, it trusts, it is what to judge, or it means something else elsewhere.
TYPED_ONLY = {
    "convert --force", "convert --from", "convert --output", "demo --recorded", "models pull --from", "models remove --yes",
    "resume --trust", "runs list --limit", "runs delete --yes", "runs prune --yes", "runs prune --keep", "cache clear --yes", "cache clear --model", "runs prune --older-than", "export --output", "import-results --again", "export-results --to", "export-results --experiment", "export-results --uri", "export-results --project", "export-results --again", "run --label", "run --labels", "run --tag", "run --until-decided", "run --alpha", "report --output", "show --prompts", "judge --answer", "judge --question", "judge --reference", "judge --criteria", "judge --rubric", "run --batch", "resume --no-batch", "runs cancel-batches --yes",
    "prompts show --version", "prompts new --content", "prompts new --mode", "prompts new --criteria", "prompts new --expected-schema",
    "prompts edit --name", "prompts edit --content", "prompts edit --mode", "prompts edit --criteria", "prompts edit --expected-schema",
    "prompts edit --seen", "prompts delete --yes", "prompts add-case --input", "prompts add-case --schema", "prompts add-case --reference",
    "prompts edit-case --input", "prompts edit-case --schema", "prompts edit-case --reference", "prompts edit-case --seen",
    "prompts export --suite", "prompts export --model", "prompts export --output",
    "prompts run --model", "prompts run --version", "prompts run --only", "prompts run --label", "prompts run --tag",
    "compare --evaluator", "compare --limit", "compare --output", "compare --anyway", "compare --model-a", "compare --model-b", "compare --fail-if-worse", "calibrate --evaluator", "calibrate --output", "calibrate --apply", "calibrate --sure", "calibrate --yes",
    "drift --evaluator", "drift --labels", "drift --max-drop", "drift --usual-flips", "drift --strict", "drift --anyway", "drift --output",
    "tune --model", "tune --evaluator", "tune --examples", "tune --held-out", "tune --folds", "tune --seed",
    "judges compare --evaluator", "judges compare --labels", "judges compare --margin", "judges compare --anyway", "judges compare --output",
    "score --criteria", "score --pass-mark", "score --max-attempts", "score --max-retries", "score --ambiguous", "rank --ambiguous", "audit run --ambiguous",
    "rank --criteria", "rank --max-attempts", "rank --max-retries", "rank --design", "rank --group-size", "rank --rounds", "rank --top",
    "rank --seed",
    "audit run --max-attempts", "audit run --max-retries", "audit run --artifacts", "audit diff --output", "audit diff --fail-if-worse",
    "runs list --tag", "runs tag --remove", "runs delete --anyway", "prompts import-cases --column", "prompts import-cases --skip-mistakes", "prompts import --update", "prompts import --yes",
    "label --sample", "label --uncertain", "label --seed", "label --evaluator", "label --output", "label --from", "label --rater", "label --show-judge", "label --undecided",
    "doctor --evaluator", "doctor --probes", "doctor --size", "doctor --seed", "doctor --max-attack-success", "doctor --max-bias",
    "doctor --max-inconsistency", "doctor --max-error-rate", "doctor --max-concentration",
    "serve --host", "serve --port", "serve --allow-host", "serve --model", "serve --token-file",
}  # fmt: skip


def commands(group: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    for name, one in group.commands.items():
        if hasattr(one, "commands"):
            yield from commands(one, f"{above}{name} ")
        else:
            yield f"{above}{name}", one


COMMANDS = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_a_setting_or_has_to_be_typed(name: str) -> None:
    others = set()
    for option in COMMANDS[name].params:
        if option.param_type_name == "option" and option.name != "help":
            long = next(one for one in option.opts if one.startswith("--"))
            if f"{name} {long}" in TYPED_ONLY:
                # A setting of the same name would be its default.
                assert (option.envvar, option.name in SETTINGS) == (None, False)
            elif option.name not in SETTINGS or option.envvar != variable_of(long[2:]):
                others.add(long)

    assert others == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_looks_for_settings(name: str) -> None:
    assert {"no_env_file", "verbose"} <= {one.name for one in COMMANDS[name].params}


def test_the_database_is_the_usual_one_of_the_store() -> None:
    assert DB == DEFAULT_URL


# Which counts


def value_of(command: Callable[..., Any], name: str, *argv: str) -> tuple[Any, str]:
    found = {one["name"]: one for one in command("config", "--json", *argv).json}
    return found[name]["value"], found[name]["source"]


def test_a_flag_counts_before_the_environment_and_that_before_the_file(
    folder: Path, command: Callable[..., Any], suite: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    suite(5)
    (folder / "evenhand.toml").write_text("limit = 1\n")
    from_file = command("run", "suite.yaml", "--json").json["run"]["cases"]
    monkeypatch.setenv("EVENHAND_LIMIT", "2")
    from_environment = command("run", "suite.yaml", "--json").json["run"]["cases"]
    typed = command("run", "suite.yaml", "--json", "--limit", "3").json["run"]["cases"]

    assert (from_file, from_environment, typed) == (1, 2, 3)


def test_config_shows_each_value_and_where_it_came_from(
    folder: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "evenhand.toml").write_text('max-cost = 2\nonly = ["a", "b-*"]\n')
    (folder / ".env").write_text("EVENHAND_JUDGE=openai/one\n")
    monkeypatch.setenv("EVENHAND_CONCURRENCY", "7")

    assert value_of(command, "max-cost") == (2.0, str(folder / "evenhand.toml"))
    assert value_of(command, "only") == (["a", "b-*"], str(folder / "evenhand.toml"))
    assert value_of(command, "judge") == ("openai/one", f"EVENHAND_JUDGE in {folder / '.env'}")
    assert value_of(command, "concurrency") == (7, "EVENHAND_CONCURRENCY")
    assert value_of(command, "db") == (DB, "default")
    assert re.search(r"^max-cost +2\.0 +\S+evenhand\.toml$", command("config").out, re.MULTILINE)


def test_config_has_every_setting(folder: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "evenhand.toml").write_text("fork = true\n")
    monkeypatch.setenv("EVENHAND_DRY_RUN", "1")

    shown = [one["name"].replace("-", "_") for one in command("config", "--json").json]

    assert shown == list(SETTINGS)
    assert value_of(command, "fork") == (True, str(folder / "evenhand.toml"))
    assert value_of(command, "dry-run") == (True, "EVENHAND_DRY_RUN")
    assert value_of(command, "canonical") == (False, "default")


def test_config_never_shows_a_password(command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_DB", "postgresql://me:hush-hush@db.example/evals?sslpassword=hush-hush")

    done = command("config")

    assert "postgresql://me:***@db.example/evals?sslpassword=***" in done.out
    assert "hush-hush" not in done.out + done.err


def test_a_database_is_named_without_its_password() -> None:
    assert without_password("runs.db") == "runs.db"
    assert without_password("postgresql://db.example/evals") == "postgresql://db.example/evals"
    assert without_password("postgresql://me@db.example/evals") == "postgresql://me@db.example/evals"
    assert without_password("postgresql:///evals?host=/run/pg") == "postgresql:///evals?host=/run/pg"
    assert without_password("postgresql://me:p%40ss@[::1]:5432/evals") == "postgresql://me:***@[::1]:5432/evals"


def test_a_variable_that_means_nothing_is_pointed_out(
    command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_CONCURENCY", "7")

    assert "EVENHAND_CONCURENCY is set but has no effect; did you mean 'EVENHAND_CONCURRENCY'?" in command("config").err


@pytest.mark.parametrize(("name", "value"), [("CONCURRENCY", "many"), ("TIMEOUT", "0"), ("MAX_COST", "-1")])
def test_a_bad_variable_is_a_usage_error_that_names_it(
    folder: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    (folder / ".env").write_text(f"EVENHAND_{name}={value}\n")
    from_env_file = command("run", "suite.yaml")
    monkeypatch.setenv(f"EVENHAND_{name}", value)

    done = command("config")

    assert (done.code, from_env_file.code) == (2, 2)
    assert f"Invalid value for EVENHAND_{name}: " in done.err
    assert f"Invalid value for EVENHAND_{name} in {folder / '.env'}: " in from_env_file.err


def test_a_bad_value_in_a_file_is_a_usage_error_that_names_it(folder: Path, command: Callable[..., Any]) -> None:
    (folder / "evenhand.toml").write_text("max_cost = -1\n")

    done = command("run", "suite.yaml")

    assert done.code == 2
    assert f"Invalid value for max-cost in {folder / 'evenhand.toml'}: " in done.err


def test_a_file_that_a_variable_names_in_vain_is_told_by_that(
    command: Callable[..., Any], suite: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    suite(1)
    monkeypatch.setenv("EVENHAND_LOG_FILE", "no/such/folder.jsonl")

    done = command("run", "suite.yaml")

    assert (done.code, done.err) == (2, "evenhand: EVENHAND_LOG_FILE no/such/folder.jsonl: No such file or directory\n")


# Files


@pytest.fixture
def own_folder(folder: Path) -> Path:
    """The user's own folder for settings."""
    made = folder.with_name(f"{folder.name}-config") / "evenhand"
    made.mkdir(parents=True)
    return made


def test_folders_above_are_not_looked_into(
    folder: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "evenhand.toml").write_text('judge = "openai/one"\n')
    (folder / ".env").write_text("EVENHAND_LIMIT=3\nOPENAI_BASE_URL=https://elsewhere.example\n")
    deep = folder / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)

    assert value_of(command, "judge") == (None, "default")
    assert value_of(command, "limit") == (None, "default")
    assert load_settings(deep, KINDS).from_env_file == {}


def test_the_users_own_folder_has_settings_for_everywhere(
    folder: Path, own_folder: Path, command: Callable[..., Any]
) -> None:
    (own_folder / "evenhand.toml").write_text('judge = "openai/one"\nlimit = 1\n')
    (own_folder / ".env").write_text("EVENHAND_TIMEOUT=3\nEVENHAND_REPEAT=3\n")
    (folder / ".env").write_text("EVENHAND_REPEAT=2\n")

    assert value_of(command, "judge") == ("openai/one", str(own_folder / "evenhand.toml"))
    assert value_of(command, "timeout") == (3.0, f"EVENHAND_TIMEOUT in {own_folder / '.env'}")
    assert value_of(command, "repeat") == (2, f"EVENHAND_REPEAT in {folder / '.env'}")


def test_the_nearest_file_counts_alone(folder: Path, own_folder: Path) -> None:
    (own_folder / "evenhand.toml").write_text('judge = "openai/one"\nlimit = 1\n')
    (folder / "pyproject.toml").write_text('[tool.evenhand]\njudge = "openai/two"\n')

    assert load_settings(folder, KINDS).values == {"judge": "openai/two"}


def test_a_pyproject_without_a_section_for_us_is_passed_over(folder: Path, own_folder: Path) -> None:
    (own_folder / "evenhand.toml").write_text("limit = 1\n")
    (folder / "pyproject.toml").write_text('[project]\ndependencies = ["evenhand"]\n')
    (folder / "pyproject.toml").chmod(0o666)

    assert load_settings(folder, KINDS).values == {"limit": 1}


def test_paths_in_a_file_are_seen_from_that_file(folder: Path, own_folder: Path) -> None:
    (own_folder / "evenhand.toml").write_text('db = "data/runs.db"\nlog-file = "log.jsonl"\noutput = ["out.html"]\n')

    assert load_settings(folder, KINDS).values == {
        "db": str(own_folder / "data/runs.db"),
        "log_file": str(own_folder / "log.jsonl"),
        "output": [str(own_folder / "out.html")],
    }


# Whose files

FILES = {
    "evenhand.toml": 'judge = "openai/one"\n',
    "pyproject.toml": '[tool.evenhand]\njudge = "openai/one"\n',
    ".env": "OPENAI_BASE_URL=https://elsewhere.example\n",
}


@pytest.mark.parametrize(("mode", "who"), [(0o666, "every user"), (0o602, "every user")])
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_others_can_write_is_refused(
    folder: Path, command: Callable[..., Any], name: str, mode: int, who: str
) -> None:
    (folder / name).write_text(FILES[name])
    (folder / name).chmod(mode)

    done = command("config")

    assert done.code == 2
    assert f"evenhand: {folder / name}: {who} can write to it, and could send your keys elsewhere" in done.err
    assert f"chmod go-w {folder / name}" in done.err


def test_the_file_behind_a_link_counts(folder: Path, own_folder: Path, command: Callable[..., Any]) -> None:
    (own_folder / "theirs.toml").write_text(FILES["evenhand.toml"])
    (own_folder / "theirs.toml").chmod(0o666)
    (folder / "evenhand.toml").symlink_to(own_folder / "theirs.toml")

    refused = command("config")
    (own_folder / "theirs.toml").chmod(0o600)

    assert (refused.code, command("config").code) == (2, 0)


def about(path: Path, *, uid: int | None = None, gid: int | None = None, mode: int = 0o100644) -> os.stat_result:
    known = list(path.stat())
    known[0] = mode
    known[4:6] = [known[4] if uid is None else uid, known[5] if gid is None else gid]
    return os.stat_result(known)


def test_a_file_of_another_user_is_refused_and_one_of_root_is_not(folder: Path) -> None:
    file = folder / ".env"
    file.touch()

    theirs, of_root = problem_of(about(file, uid=os.getuid() + 1), file), problem_of(about(file, uid=0), file)

    assert of_root is None
    assert theirs is not None
    assert theirs.startswith(f"it belongs to another user (uid {os.getuid() + 1}), who could send your keys elsewhere")
    assert theirs.endswith(f"sudo chown {os.getuid()} {file}")


def test_a_group_of_others_is_refused_if_it_can_write(folder: Path) -> None:
    file = folder / ".env"
    file.touch()
    nobodys = 2**31 - 7

    refused = problem_of(about(file, gid=nobodys, mode=0o100664), file)

    assert refused is not None
    assert refused.startswith("a whole group can write to it, and could send your keys elsewhere")
    assert refused.endswith(f"chmod go-w {file}")
    assert problem_of(about(file, gid=nobodys, mode=0o100644), file) is None


def test_an_env_file_of_others_can_be_left_alone(folder: Path, command: Callable[..., Any]) -> None:
    (folder / ".env").write_text(FILES[".env"])
    (folder / ".env").chmod(0o666)

    assert "; or give --no-env-file" in command("config").err
    assert command("config", "--no-env-file").code == 0


# Addresses that stand in variables


def test_an_address_from_a_variable_is_told_once_before_anybody_is_asked(
    folder: Path,
    command: Callable[..., Any],
    suite: Callable[..., Path],
    provider: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluators = [{"name": name, "type": "llm_judge"} for name in ("one", "two")]
    suite(2, judge="openai/gpt-4o-mini", evaluators=evaluators)
    (folder / ".env").write_text(f"OPENAI_API_KEY=sk-1\nOPENAI_BASE_URL={provider.url}\n")

    estimated = command("run", "suite.yaml", "--estimate")
    from_file = command("run", "suite.yaml")

    origin = provider.url.removesuffix("/v1")
    told = f"openai/gpt-4o-mini is asked at {origin} (OPENAI_BASE_URL in {folder / '.env'})\n"
    assert "is asked at" not in estimated.err
    assert from_file.err.count(told) == from_file.err.count("is asked at") == 1
    assert "is asked at" not in from_file.out


def test_an_address_of_the_suite_or_of_the_provider_is_not_told(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite(1, judge=provider)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")

    done = command("run", "suite.yaml")

    assert (done.code, "is asked at" in done.err) == (0, False)


@pytest.mark.parametrize("db", ["postgresql://db.example/evals", "sqlite://", "sqlite:////var/runs.db", "/var/runs.db"])
def test_what_is_no_relative_path_stays_as_it_is(folder: Path, db: str) -> None:
    (folder / "evenhand.toml").write_text(f'db = "{db}"\n')

    assert load_settings(folder, KINDS).values == {"db": db}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("concurency = 4", "evenhand.toml: no setting 'concurency'; did you mean 'concurrency'?"),
        ("max_csot = 4", "evenhand.toml: no setting 'max_csot'; did you mean 'max-cost'?"),
        ("max-cost = 1\nmax_cost = 2", "max-cost and max_cost are the same setting; keep one"),
        ("concurrency = 'four'", "concurrency is 'four'; it must be a whole number"),
        ("concurrency = true", "concurrency is true; it must be a whole number"),
        ("concurrency = 4.5", "concurrency is 4.5; it must be a whole number"),
        ("no-cache = 'yes'", "no-cache is 'yes'; it must be true or false"),
        ("only = [1]", "only is [1]; it must be a list of texts"),
        ("judge = 1", "judge is 1; it must be text"),
        ("judge =", "evenhand.toml: invalid TOML: "),
        ("[run]\nlimit = 1", "no setting 'run'"),
    ],
)
def test_a_mistake_in_a_file_is_named(folder: Path, text: str, told: str) -> None:
    (folder / "evenhand.toml").write_text(text)

    with pytest.raises(ConfigError) as caught:
        load_settings(folder, KINDS)

    assert told in str(caught.value)


def test_two_files_side_by_side_are_one_too_many(folder: Path) -> None:
    (folder / "evenhand.toml").write_text("limit = 1\n")
    (folder / "pyproject.toml").write_text("[tool.evenhand]\nlimit = 2\n")

    with pytest.raises(ConfigError, match="both have settings; keep one of them"):
        load_settings(folder, KINDS)


def test_a_mistake_in_a_file_ends_every_command_before_it_begins(folder: Path, command: Callable[..., Any]) -> None:
    (folder / "evenhand.toml").write_text("concurency = 4")

    done = command("run", "suite.yaml")

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("evenhand: ")
    assert list(folder.iterdir()) == [folder / "evenhand.toml"]


# .env


@pytest.mark.parametrize("how", ["flag", "variable", "file"])
def test_the_env_file_can_be_left_alone(
    folder: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    (folder / ".env").write_text("EVENHAND_LIMIT=3\n")
    if how == "variable":
        monkeypatch.setenv("EVENHAND_NO_ENV_FILE", "1")
    if how == "file":
        (folder / "evenhand.toml").write_text("no-env-file = true\n")

    value, _ = value_of(command, "limit", *(["--no-env-file"] if how == "flag" else []))

    assert value is None


def test_a_bad_env_file_is_an_error_that_shows_no_value(folder: Path, command: Callable[..., Any]) -> None:
    (folder / ".env").write_text("EVENHAND_JUDGE\nOPENAI_API_KEY: sk-hush\n")

    done = command("config")

    assert done.code == 2
    assert f"evenhand: {folder / '.env'}:1: a line must be NAME=value" in done.err
    assert "sk-hush" not in done.out + done.err


def test_a_folder_of_that_name_is_none_of_our_business(folder: Path, command: Callable[..., Any]) -> None:
    (folder / ".env").mkdir()

    assert command("config").code == 0


@pytest.mark.parametrize("line", ["{} = 1", "[{}]", "x = {{ {} = 1 }}"])
def test_a_key_of_very_many_parts_is_refused_at_once(folder: Path, line: str) -> None:
    # The parser would take minutes.
    (folder / "evenhand.toml").write_text("# a comment\n" + line.format("a." * 50_000 + "a") + "\n")

    with pytest.raises(ConfigError, match=r"evenhand\.toml, line 2: more than 1,000 dots; shorten the line"):
        load_settings(folder, {"judge": str}, with_env_file=False)
