"""Saved filters are kept by name, a hundred of them, and tags of a run with its options."""

from __future__ import annotations

import pytest

from evenhand.domain.errors import ConfigError, NotFoundError
from evenhand.domain.prompt import PromptText
from evenhand.domain.run import MOST_TAGS
from evenhand.store import saved_filters
from evenhand.store.store import Store


def test_a_filter_is_saved_under_a_name_and_replaced_by_another_of_that_name(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    filters = store.saved_filters
    filters.save("B", "text=b")
    filters.save("a", "text=a")
    filters.save("B", "tag=new")
    monkeypatch.setattr(saved_filters, "MOST_FILTERS", 2)

    with pytest.raises(ConfigError, match="there are 2 saved filters already; delete one first"):
        filters.save("c", "")
    filters.save("a", "sort=mean")
    for wrong in ("", "a\nb", "x" * 201):
        with pytest.raises(ConfigError, match="it must be a line of"):
            filters.save(wrong, "")

    assert [(each.name, each.query) for each in filters.all()] == [("B", "tag=new"), ("a", "sort=mean")]
    filters.delete("a")
    with pytest.raises(NotFoundError, match="no saved filter 'a'"):
        filters.delete("a")


def test_tags_are_added_and_removed_and_leave_the_label_alone(store: Store) -> None:
    run = store.runs.create(name="r", source=None, definition={}, options={"label": "kept"})

    added = store.runs.change_tags(run, add=["b", " a ", "b"])
    removed = store.runs.change_tags(run, add=["c"], remove=["b", "never"])
    replaced = store.runs.change_tags(run, add=["only"], remove=None)
    with pytest.raises(ConfigError, match=f"at most {MOST_TAGS} tags, and these are {MOST_TAGS + 1}"):
        store.runs.change_tags(run, add=[str(number) for number in range(MOST_TAGS)])
    with pytest.raises(ConfigError, match="without a comma"):
        store.runs.change_tags(run, add=["a,b"])
    none = store.runs.change_tags(run, remove=None)

    assert (added.tags, removed.tags, replaced.tags, none.tags) == (("a", "b"), ("a", "c"), ("only",), ())
    assert (none.label, none.options) == ("kept", {"label": "kept"})
    assert store.runs.is_sound(run)


def test_the_names_of_prompts_are_listed_without_their_texts_the_newest_first(store: Store) -> None:
    made = [store.prompts.create(PromptText(name=name)) for name in ("first", "second", "third")]

    assert store.prompts.names() == [(one.id, one.name) for one in reversed(made)]
    assert store.prompts.names(1) == [(made[2].id, "third")]
