"""Where models that workers share are loaded: once on each node that has room for one, or for each GPU there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from evenhand.domain.errors import ConfigError
from evenhand.models.embedded.resources import KINDS, Resources, amount_text
from evenhand.models.embedded.runtime import Load

_USUAL: Final = Resources()


@dataclass(slots=True, kw_only=True)
class Node:
    """A machine of the cluster, and what is left of it."""

    id: str
    address: str
    cpu: float
    gpu: float = 0

    def takes(self, wanted: Resources) -> int:
        """Return how often a model can be loaded here: once, or where it needs GPUs, as often as they allow."""
        if self.cpu < wanted.cpu or self.gpu < wanted.gpu:
            return 0
        return min(int(self.gpu / wanted.gpu), int(self.cpu / wanted.cpu)) if wanted.gpu else 1


@dataclass(frozen=True, slots=True)
class Placement:
    """On which nodes each model is loaded, a node as often as the model is there; and the processors that are left."""

    nodes: Mapping[Load, Sequence[Node]] = field(default_factory=dict)
    processors: int = 0


def placed(models: Sequence[Load], nodes: Sequence[Node], *, is_shared: bool) -> Placement:
    """Find a place for each model; one that no node can ever have room for is refused by its name.

    On a cluster that is shared with others, workers reserve processors too, and at least one must be left for them.
    """
    found: dict[Load, Sequence[Node]] = {}
    # Those that need most first: what is left must do for the others.
    for model in sorted(models, key=lambda each: (-_wanted(each).gpu, -_wanted(each).cpu, each.name)):
        wanted = _wanted(model)
        places = [node for node in nodes for _ in range(node.takes(wanted))]
        if not places:
            raise ConfigError(_refusal(model, nodes))
        for node in places:
            node.cpu -= wanted.cpu
            node.gpu -= wanted.gpu
        found[model] = places
    processors = sum(int(node.cpu) for node in nodes)
    if found and is_shared and processors < 1:
        names = ", ".join(f"{model.name} ({_wanted(model)})" for model in found)
        raise ConfigError(
            f"{names} would take all processors of the cluster, and workers need one; let resources have less cpu"
        )
    return Placement(found, processors)


def _wanted(model: Load) -> Resources:
    return model.resources or _USUAL


def _refusal(model: Load, nodes: Sequence[Node]) -> str:
    wanted = _wanted(model)
    free = "; ".join(
        f"{node.address} has {amount_text(node.cpu)} cpu and {amount_text(node.gpu)} gpu" for node in nodes[:4]
    )
    lacking = [kind for kind in KINDS if all(getattr(node, kind) < getattr(wanted, kind) for node in nodes)]
    which = " and ".join(lacking) or "both"
    more = f"; and {len(nodes) - 4} more nodes" if len(nodes) > 4 else ""
    return (
        f"the judge {model.name} asks for {wanted}, and no node of the cluster has so much {which} for it: "
        f"{free or 'it has no nodes'}{more}"
    )
