"""What the tags of a run are once some were added and others removed."""

from __future__ import annotations

from collections.abc import Iterable

from evenhand.domain.run import tags_of


def tags_after(tags: Iterable[str], *, add: Iterable[str], remove: Iterable[str] | None) -> tuple[str, ...]:
    """Return the tags of a run by name, each once; None for ``remove`` keeps none but those that are added.

    >>> tags_after(["draft"], add=["release", " release "], remove=["draft"])
    ('release',)
    """
    added = tags_of(add)
    removed = None if remove is None else {tag.strip() for tag in remove}
    kept = () if removed is None else (tag for tag in tags if tag not in removed)
    return tags_of((*kept, *added))
