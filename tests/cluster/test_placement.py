"""Where models are loaded: on which nodes, how often, and what is refused."""

from __future__ import annotations

import pytest

from evenhand.cluster.placement import Node, placed
from evenhand.domain.errors import ConfigError
from evenhand.models.embedded.resources import Resources
from evenhand.models.embedded.runtime import Load


def load(name: str, **resources: float) -> Load:
    return Load(name=name, threads=None, context=64, resources=Resources(**resources) if resources else None)


def nodes(*sizes: tuple[float, float]) -> list[Node]:
    return [Node(id=str(number), address=f"node-{number}", cpu=cpu, gpu=gpu) for number, (cpu, gpu) in enumerate(sizes)]


@pytest.mark.parametrize(
    ("models", "sizes", "where", "left"),
    [
        pytest.param([], [(4, 0)], [], 4, id="nothing to place"),
        pytest.param([load("a")], [(4, 0), (2, 0)], [["0", "1"]], 4, id="once a node, with a processor each"),
        pytest.param([load("a", cpu=3)], [(4, 0), (2, 0)], [["0"]], 3, id="only where there is room"),
        pytest.param([load("a", gpu=1)], [(8, 0), (4, 2)], [["1", "1"]], 10, id="once for each GPU"),
        pytest.param([load("a", gpu=0.5)], [(8, 1)], [["0", "0"]], 6, id="twice on a GPU"),
        pytest.param([load("a", gpu=1, cpu=2)], [(3, 2)], [["0"]], 1, id="as far as the processors go"),
        pytest.param([load("a"), load("b", gpu=1)], [(4, 1), (4, 0)], [["0"], ["0", "1"]], 5, id="the largest first"),
    ],
)
def test_a_model_is_loaded_once_on_each_node_or_for_each_gpu(
    models: list[Load], sizes: list[tuple[float, float]], where: list[list[str]], left: int
) -> None:
    placement = placed(models, nodes(*sizes), is_shared=True)

    assert [[node.id for node in each] for each in placement.nodes.values()] == where
    assert placement.processors == left


@pytest.mark.parametrize(
    ("models", "sizes", "words"),
    [
        (
            [load("a", gpu=1)],
            [(8, 0), (4, 0)],
            "a asks for 1 cpu and 1 gpu, and no node of the cluster has so much gpu",
        ),
        ([load("a", cpu=9)], [(8, 0)], "no node of the cluster has so much cpu for it: node-0 has 8 cpu and 0 gpu"),
        ([load("a", cpu=4, gpu=1)], [(8, 0), (2, 1)], "has so much both for it"),
        (
            [load("a", cpu=3), load("b", cpu=2)],
            [(4, 0)],
            "b asks for 2 cpu, and no node .*: node-0 has 1 cpu and 0 gpu",
        ),
        ([load("a", cpu=8)], [(8, 0)], r"a \(8 cpu\) would take all processors of the cluster"),
        ([load("a")], [], "it has no nodes"),
    ],
)
def test_what_can_never_be_placed_is_refused_by_its_name(
    models: list[Load], sizes: list[tuple[float, float]], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        placed(models, nodes(*sizes), is_shared=True)


def test_on_a_ray_of_its_own_a_model_may_have_all_processors() -> None:
    assert placed([load("a", cpu=2)], nodes((2, 0)), is_shared=False).processors == 0
