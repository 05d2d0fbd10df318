"""What the tags of a run are once some were added and others removed."""

from __future__ import annotations

from collections.abc import Iterable

from evenhand.domain.errors import ConfigError
from evenhand.domain.run import MOST_TAGS, NOT_A_TAG, is_tag


def tags_after(tags: Iterable[str], *, add: Iterable[str], remove: Iterable[str] | None) -> tuple[str, ...]:
    """Return the tags of a run by name, each once; None for ``remove`` keeps none but those that are added.

    >>> tags_after(["draft"], add=["release", " release "], remove=["draft"])
    ('release',)
    """
    added = [tag.strip() if isinstance(tag, str) else tag for tag in add]
    for tag in added:
        if not is_tag(tag):
            raise ConfigError(f"tag is {tag!r:.80}; {NOT_A_TAG}", key="tags")
    removed = None if remove is None else {tag.strip() for tag in remove}
    kept = () if removed is None else (tag for tag in tags if tag not in removed)
    found = tuple(sorted({*kept, *added}))
    if len(found) > MOST_TAGS:
        raise ConfigError(f"a run has at most {MOST_TAGS} tags, and these are {len(found)}; remove some", key="tags")
    return found
