"""Two nodes of real Ray: a judge goes where it has what it reserves, and workers go everywhere."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sysconfig
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand.domain.exit_code import ExitCode
from evenhand.store.store import open_store
from evenhand.version import __version__

from . import stand_in_model
from .test_ray_places import TOKEN, command, done, newest, two_nodes

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
]

# An answer is given when both nodes are at work: one may have answered everything before the other has begun.
ELSEWHERE = """
def answer(text):
    import os
    import time
    from pathlib import Path

    import ray

    node = ray.get_runtime_context().get_node_id()
    nodes = Path(os.environ["NODES_AT_WORK"])
    (nodes / node).touch()
    for _ in range(2400):
        if len(list(nodes.iterdir())) == 2:
            break
        time.sleep(0.1)
    return node
"""


def python_without_the_package(folder: Path) -> Path:
    """Make an environment that has everything this one has, but Evenhand."""
    venv.create(folder, symlinks=True)
    (there,) = folder.glob("lib/python*/site-packages")
    for installed in Path(sysconfig.get_path("purelib")).iterdir():
        if "evenhand" not in installed.name:
            (there / installed.name).symlink_to(installed)
    return folder / "bin" / "python"


@pytest.mark.starts(3, "starts a node without the package")
def test_a_node_without_the_package_is_refused_before_anything_is_judged(
    tmp_path: Path, suite: Callable[..., Path]
) -> None:
    path = suite(3)
    bare = python_without_the_package(tmp_path / "bare")

    with (
        tempfile.TemporaryDirectory(prefix="eh-") as folder,
        two_nodes(Path(folder), SECOND_PYTHON=str(bare)) as (address, _),
    ):
        there = {"RAY_ADDRESS": address, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN}
        on = ("--on", "ray", "--db", "ray.db")
        refused = done(command("run", path.name, *on, folder=path.parent, **there), ExitCode.USAGE)

    assert re.search(rf"node \S+ of the cluster does not have Evenhand; install {__version__} on all nodes", refused)
    assert newest(path.parent / "ray.db")[1] == 0


@pytest.mark.starts(3, "starts two nodes")
def test_a_judge_that_needs_a_gpu_goes_where_one_is_and_workers_go_everywhere(
    tmp_path: Path, suite: Callable[..., Path]
) -> None:
    library = tmp_path / "library"
    library.mkdir()
    shutil.copy(stand_in_model.__file__, library / "xllamacpp.py")
    (tmp_path / "small.gguf").write_bytes(b"GGUF")
    (tmp_path / "elsewhere.py").write_text(ELSEWHERE)
    judge = {"model": f"embedded/{tmp_path / 'small.gguf'}", "resources": {"cpu": 1, "gpu": 1}}
    quality = {"name": "quality", "type": "llm_judge", "score_from": "text"}
    path = suite(40, judge=judge, evaluators=[quality], target={"python": "elsewhere:answer"})
    path.write_text(path.read_text().replace("candidate_answer", "reference_answer"))
    asking_too_much = json.loads(path.read_text())
    asking_too_much["judge"]["resources"]["gpu"] = 2
    (tmp_path / "large.json").write_text(json.dumps(asking_too_much))
    (tmp_path / "nodes").mkdir()
    found = {"PYTHONPATH": str(library), stand_in_model.NOTES: str(library), "NODES_AT_WORK": str(tmp_path / "nodes")}

    with (
        tempfile.TemporaryDirectory(prefix="eh-") as folder,
        two_nodes(Path(folder), "2", "1", **found) as (address, _),
    ):
        there = {"RAY_ADDRESS": address, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN, **found}
        on = ("--on", "ray", "--db", "ray.db")
        refused = done(command("run", "large.json", *on, folder=tmp_path, **there), ExitCode.USAGE)
        nothing_asked = not (library / "asked").exists()
        process = command("run", path.name, *on, folder=tmp_path, **there)
        _, told = process.communicate(timeout=300)

    assert "asks for 1 cpu and 2 gpu, and no node of the cluster has so much gpu for it" in refused
    assert "has 2 cpu and 1 gpu" in refused
    assert nothing_asked
    assert "on Ray: 3 workers on 2 nodes" in told, told  # of four processors, one is the judge's
    assert len((library / "loads").read_text().splitlines()) == 1
    store = open_store(str(tmp_path / "ray.db"))
    (run,) = store.runs.newest(1)
    nodes = {made.text for result in store.results(run) for made in result.answers}
    assert (run.evaluations, len(nodes)) == (40, 2)
