"""The content of a message: text is text, and what is none is refused."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand import Case, ConfigError, Message
from evenhand.domain.json_codec import case_from
from evenhand.domain.message import content_text, plain_data

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
SOUND = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
HELLO = {"type": "text", "text": "Hello"}
AS_TEXT = "only text can be judged; describe it in words instead"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Hello", "Hello"),
        ([], ""),
        (["Hel", "lo"], "Hello"),
        ([HELLO], "Hello"),
        (HELLO, "Hello"),
        ([{"text": "Hel"}, "lo"], "Hello"),
        ([{"type": "text", "value": "Hello"}], "Hello"),
        ([{"type": "text", "text": "Hel"}, {"type": "output_text", "text": "lo", "annotations": []}], "Hello"),
        ([{"type": "refusal", "refusal": "I will not."}], "I will not."),
        ([HELLO, {"type": "tool_use", "name": "look", "input": {}}], 'Hello\n\n{"type": "tool_use", "name": "look", "input": {}}'),
        ({"city": "Paris"}, '{"city": "Paris"}'),
        ({"type": "city", "name": "Paris"}, '{"type": "city", "name": "Paris"}'),
        ([{"city": "Paris"}, 5], '[{"city": "Paris"}, 5]'),
    ],
)  # fmt: skip
def test_blocks_of_text_are_text_and_data_is_json(content: Any, text: str) -> None:
    assert Case(input_messages=[{"role": "user", "content": content}]).question_text == text


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        (PICTURE, f"image_url is a picture, and {AS_TEXT}"),
        (SOUND, f"input_audio is sound, and {AS_TEXT}"),
        ({"type": "image", "source": {"type": "base64", "data": "AAAA"}}, f"image is a picture, and {AS_TEXT}"),
        ({"type": "image"}, f"image is a picture, and {AS_TEXT}"),
        ({"type": "audio", "url": "https://example.org/a.wav"}, f"audio is sound, and {AS_TEXT}"),
        ({"type": "video_url", "video_url": {"url": "x"}}, f"video_url is a video, and {AS_TEXT}"),
        ({"type": "document", "source": {"type": "url"}}, f"document is a document, and {AS_TEXT}"),
        ({"type": "input_file", "file_id": "f-1"}, f"input_file is a document, and {AS_TEXT}"),
        ({"type": "file", "file": {"file_id": "f-1"}}, f"file is a file, and {AS_TEXT}"),
        ({"inline_data": {"mime_type": "image/png", "data": "AAAA"}}, f"image/png is a picture, and {AS_TEXT}"),
        ({"type": "tool_result", "content": [PICTURE]}, f"block 1: image_url is a picture, and {AS_TEXT}"),
        ({"type": "file", "value": "notes.md"}, "the file 'notes.md' is not read here, only in a suite; read it, and give its text"),
        ({"type": "txt", "text": "x"}, "no block type 'txt'; write {type: text, text: …}, and data as JSON in it"),
        ({"type": "hologram"}, "no block type 'hologram'; write {type: text, text: …}, and data as JSON in it"),
        ({"type": "text"}, "a block of type text needs text, a text; got {'type': 'text'}"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("field", ["input_messages", "output_messages", "expected_messages"])
def test_what_is_no_text_is_refused_with_its_place(block: Any, problem: str, field: str) -> None:
    messages: Any = [("system", "Look."), {"role": "user", "content": [HELLO, block]}]

    with pytest.raises(ConfigError) as refused:
        Case(id="seen", **{field: messages})

    assert str(refused.value) == f"case 'seen': {field}: message 2, block 2: {problem}"


def test_a_message_object_cannot_bring_a_picture_either() -> None:
    with pytest.raises(ConfigError, match="message 1, block 1: image_url is a picture"):
        Case(input_messages=[Message("user", [PICTURE])])  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["attachments", "images", "audio", "image_url"])
def test_what_is_beside_the_content_is_refused(key: str) -> None:
    message = {"role": "assistant", "content": "See there.", key: [{"id": "1"}]}

    with pytest.raises(ConfigError, match=f"case 'seen': output_messages: message 1: {key} is not part of the content"):
        Case(id="seen", output_messages=[message])


def test_nothing_beside_the_content_is_nothing() -> None:
    message: dict[str, Any] = {"role": "assistant", "content": "Hi", "audio": None, "attachments": []}

    assert Case(output_messages=[message]).output_messages


def test_data_keeps_what_only_looks_like_a_block() -> None:
    data = {
        "type": "image",
        "children": [{"type": "text", "text": "Name"}, {"type": "checkbox"}],
        "found": [{"type": "document", "source": "wiki.html", "data": "…"}, {"type": "file", "name": "a.py"}],
        "answer": {"mime_type": "application/json", "data": {}},
    }

    assert plain_data(data) == data


def test_messages_in_data_have_text_and_no_pictures() -> None:
    assert plain_data([{"role": "user", "content": [HELLO, HELLO]}]) == [{"role": "user", "content": "HelloHello"}]
    with pytest.raises(ConfigError, match=r"^message 2, block 1: image_url is a picture"):
        plain_data([{"role": "user", "content": "Hi"}, {"role": "user", "content": [PICTURE]}])
    with pytest.raises(ConfigError, match=r"^block 1: image_url is a picture"):
        plain_data({"a": {"b": [PICTURE]}})


def test_content_without_an_end_is_refused() -> None:
    endless: list[Any] = []
    endless.append([endless])

    with pytest.raises(ConfigError, match="message 1: its content is nested too deeply"):
        Case(input_messages=[{"role": "user", "content": endless}])


def test_a_file_stands_apart_from_the_text_around_it() -> None:
    content = [HELLO, {"type": "file", "value": "notes.md"}, "Bye"]

    assert content_text(content, read_file=lambda name: f"({name})") == "Hello\n\n(notes.md)\n\nBye"


def test_what_an_earlier_version_stored_can_be_read() -> None:
    row = {"role": "assistant", "content": '[{"type": "image_url"}]', "audio": {"id": "1"}}

    assert case_from({"output_messages": [row]}).output_messages == (
        Message("assistant", '[{"type": "image_url"}]', (("audio", {"id": "1"}),)),
    )
