"""One hash of what the cases of a run ask, by which runs of the same data are recognized."""

from __future__ import annotations

import contextlib
import hashlib
from typing import Final

from evenhand.domain.errors import StoreError
from evenhand.domain.run import RunRecord
from evenhand.engine.case_scores import judged_by, metadata_shown
from evenhand.engine.targets.several import TEST_CASE
from evenhand.store.rows import planned_from
from evenhand.store.store import Store

_FORMAT: Final = "1"


def kept_case_digest(store: Store, run: RunRecord) -> str | None:
    """Return the hash of a run's cases where it is known without reading them."""
    return store.case_digests.find(run, format=_FORMAT)


def case_digest(store: Store, run: RunRecord) -> str:
    """Return the hash of what a run's cases ask, and keep it.

    Answers, the prompt that is tried and the target have no part in it, nor has the order of the cases.
    """
    if (kept := kept_case_digest(store, run)) is not None:
        return kept
    of_a_prompt = "prompt" in run.definition
    metadata = metadata_shown(run.definition.get("evaluators"))
    found: set[str] = set()
    for page in store.case_rows(run):
        for row in page:
            planned = planned_from(*row)
            name = planned.case.metadata.get(TEST_CASE, planned.case.id)
            found.add(f"{judged_by(planned, of_a_prompt=of_a_prompt, metadata=metadata)} {name}")
    digest = hashlib.sha256("\n".join(sorted(found)).encode("utf-8", "surrogatepass")).hexdigest()
    with contextlib.suppress(StoreError):  # a store that can only be read
        store.case_digests.keep(run, digest, format=_FORMAT)
    return digest
