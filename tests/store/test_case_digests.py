"""The hash of a run's cases is kept until the run has more of them, or it is computed in another way."""

from __future__ import annotations

from dataclasses import replace

from evenhand.store.store import Store


def test_it_is_kept_for_as_many_cases_and_one_format_and_goes_with_the_run(store: Store) -> None:
    run = store.runs.create(name="r", source=None, definition={}, options={})
    kept = store.case_digests

    before = kept.find(run, format="1")
    kept.keep(run, "old", format="1")
    kept.keep(run, "new", format="1")
    found = kept.find(run, format="1"), kept.find(run, format="2"), kept.find(replace(run, cases=1), format="1")
    store.database.execute("DELETE FROM runs WHERE number = ?", [run.number])

    assert before is None
    assert found == ("new", None, None)
    assert kept.find(run, format="1") is None
