"""A profile: a text about somebody or something, to be scored by criteria (SPEC-K1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from evenhand.domain.case import Case, is_blank
from evenhand.domain.errors import ConfigError

_MOST_ID: Final = 200
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A text with an id, and what is known beside it.

    >>> Profile(id="anna", text="Ten years a nurse.", attributes={"city": "Graz"}).id
    'anna'

    A judge sees the text and nothing else: neither the id nor the ``attributes``. Profiles that share a source are
    given the same ``cluster``, so that they do not count as independent.
    """

    id: str
    text: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    cluster: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.id, str):
            raise ConfigError(f"profile: id must be text, not {self.id!r:.80}")
        if not self.id.strip() or len(self.id) > _MOST_ID or _CONTROL.search(self.id):
            raise ConfigError(
                f"profile {self.id!r:.80}: an id has 1 to {_MOST_ID} characters, not only spaces, and no control "
                "characters"
            )
        if not isinstance(self.text, str):
            raise ConfigError(f"profile {self.id!r}: text must be text, not {self.text!r:.80}")
        if is_blank(self.text):
            raise ConfigError(f"profile {self.id!r}: its text is empty; there is nothing to judge")
        if not isinstance(self.attributes, Mapping):
            kind = type(self.attributes).__name__
            raise ConfigError(f"profile {self.id!r}: attributes must be a mapping, not {kind}")
        if self.cluster is not None and not isinstance(self.cluster, str):
            raise ConfigError(f"profile {self.id!r}: cluster must be text or None, not {self.cluster!r:.80}")

    @property
    def case(self) -> Case:
        """The profile as a case, which is what runs are made of."""
        return Case(id=self.id, candidate_answer=self.text, metadata=dict(self.attributes), cluster=self.cluster)
