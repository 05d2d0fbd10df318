"""The messages of a conversation, and what users may write for one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from evenhand.domain.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; ``role`` is ``system``, ``user`` or ``assistant``.

    ``more`` are the other keys of a message that was given as a mapping, such as its ``tool_calls``.
    """

    role: str
    content: str
    more: tuple[tuple[str, Any], ...] = field(default=(), hash=False, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the message as providers and plain functions take it."""
        plain = {"role": self.role, "content": self.content}
        return {**plain, **dict(self.more)} if self.more else plain


# What users may write for a message.
MessageLike: TypeAlias = Message | Mapping[str, Any] | tuple[str, str]


_ROLES = {
    "human": "user",
    "HumanMessageChunk": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "model": "assistant",
    "developer": "system",
    "SystemMessageChunk": "system",
    "ToolMessageChunk": "tool",
}
# What a message may have to say without content, as chat APIs write it.
_IN_PLACE_OF_CONTENT = frozenset({"tool_calls", "function_call", "refusal", "audio"})
# What a message may have beside its content and nobody would look at.
_BESIDE_CONTENT = ("attachments", "images", "image", "image_url", "audio", "input_audio", "video")


def messages_from(messages: object) -> tuple[Message, ...]:
    """Parse messages in any usual form: text, mappings, pairs, or objects with ``type``/``role`` and ``content``.

    >>> messages_from([("system", "Be brief."), {"role": "user", "content": "Hi"}])
    (Message(role='system', content='Be brief.'), Message(role='user', content='Hi'))
    """
    if isinstance(messages, str):
        return (Message("user", messages),)
    if hasattr(messages, "to_messages"):  # a LangChain prompt value
        return messages_from(messages.to_messages())
    if isinstance(messages, Mapping) and "messages" in messages:
        return messages_from(messages["messages"])
    if isinstance(messages, Iterable) and not isinstance(messages, Mapping):
        return tuple(message_from(message, number) for number, message in enumerate(messages, 1))
    return (message_from(messages),)


def message_from(message: object, number: int = 1, *, read_file: ReadFile | None = None) -> Message:
    """Parse one message, which errors call by its number; ``read_file`` reads files that its content names."""
    if isinstance(message, Message) and isinstance(message.content, str):
        return message
    more: tuple[tuple[str, Any], ...] = ()
    if isinstance(message, Mapping):
        role, content = message.get("role") or message.get("type"), message.get("content")
        more = tuple((key, value) for key, value in message.items() if key not in {"role", "type", "content"})
    elif isinstance(message, tuple) and len(message) == 2:
        role, content = message
    else:
        role, content = (
            getattr(message, "role", None) or getattr(message, "type", None),
            getattr(message, "content", None),
        )
    if content is None and any(key in _IN_PLACE_OF_CONTENT for key, _ in more):
        content = ""
    if not isinstance(role, str) or content is None:
        raise ConfigError(
            f"a message needs a role and content, such as {{'role': 'user', 'content': '…'}}; got {message!r:.120}"
        )
    for key, value in more:
        if value and key in _BESIDE_CONTENT:
            raise ConfigError(
                f"message {number}: {key} is not part of the content, and only text can be judged; describe it "
                "there in words"
            )
    try:
        text = content_text(content, read_file=read_file)
    except ConfigError as error:
        raise ConfigError(f"message {number}, {error}") from None
    except RecursionError:
        raise ConfigError(f"message {number}: its content is nested too deeply to be written as JSON") from None
    return Message(_ROLES.get(role, role), text, more)


def conversation_text(value: object) -> str | None:
    """Write message objects, LangChain's or ours, as text, role by role; None for a value that has none.

    >>> conversation_text({"messages": [Message("user", "Hi")]})
    'user: Hi'

    The value is a message, a list with some, or a mapping with such a list as its ``messages``; what the mapping has
    beside them follows as JSON.
    """
    if _is_message_object(value):
        return _turn(value, 1)
    if isinstance(value, list | tuple) and any(map(_is_message_object, value)):
        return "\n\n".join(_turn(turn, number) for number, turn in enumerate(value, 1))
    if isinstance(value, Mapping) and (text := conversation_text(value.get("messages"))) is not None:
        others = {key: other for key, other in value.items() if key != "messages"}
        return f"{text}\n\n{content_text(others)}" if others else text
    return None


def _is_message_object(value: object) -> bool:
    return isinstance(value, Message) or any(
        each.__name__ == "BaseMessage" and each.__module__.startswith("langchain_core.") for each in type(value).__mro__
    )


def _turn(value: object, number: int) -> str:
    message = message_from(("user", value) if isinstance(value, str) else value, number)
    calls = [*getattr(value, "tool_calls", ()), *getattr(value, "invalid_tool_calls", ())]
    called = [f"[calls {call.get('name')} with {content_text(call.get('args'))}]" for call in calls]
    return f"{message.role}: {' '.join(filter(None, [message.content, *called]))}"


# Reads the file that a block names, and returns its text.
ReadFile: TypeAlias = Callable[[str], str]

# The blocks of text, by their type, and the keys under which chat APIs and other tools have the text.
_TEXTS: Final = {
    "text": ("text", "value"),
    "input_text": ("text",),
    "output_text": ("text",),
    "refusal": ("refusal",),
}
_FILE: Final = "file"
# What a conversation with tools has besides text; it is plain data, and read as JSON.
_DATA: Final = frozenset(
    {
        "tool_use", "tool_result", "tool_call", "server_tool_use", "function_call", "function_call_output",
        "thinking", "redacted_thinking", "reasoning",
    }
)  # fmt: skip
_MEDIA: Final = {
    "image": "a picture", "image_url": "a picture", "input_image": "a picture", "image_file": "a picture",
    "audio": "sound", "audio_url": "sound", "input_audio": "sound", "output_audio": "sound",
    "video": "a video", "video_url": "a video", "input_video": "a video",
    "document": "a document", "input_file": "a document", "media": "no text", _FILE: "a file",
}  # fmt: skip
_SEEN_OR_HEARD: Final = frozenset({"a picture", "sound", "a video"})
# The keys by which blocks bring what they are: without one, a mapping in data only happens to have such a type.
_PAYLOADS: Final = frozenset({"url", "base64", "data", "file_id", "source", "value", *_MEDIA})
_DOCUMENT_PAYLOADS: Final = frozenset({"base64", "file_id", "file_data", "file_url"})
_MAPPED_PAYLOADS: Final = ("source", "file")
# Gemini's blocks have no type.
_UNTYPED: Final = ("inline_data", "inlineData", "file_data", "fileData")
_MIME_TYPES: Final = ("mime_type", "media_type", "mimeType")
_MIME_KINDS: Final = {"image": "a picture", "audio": "sound", "video": "a video", "application/pdf": "a document"}
_AS_TEXT: Final = "only text can be judged; describe it in words instead"


def content_text(content: object, *, read_file: ReadFile | None = None) -> str:
    """Return the text of a message's content; refuses pictures, sound and unknown blocks by their number.

    >>> content_text([{"type": "text", "text": "Hello, "}, {"type": "text", "text": "world"}])
    'Hello, world'

    Anything else than text and blocks is data, and written as JSON. ``read_file`` reads blocks of type ``file``.
    """
    if isinstance(content, str):
        return content
    if content in ([], ()):
        return ""
    blocks = _blocks(content)
    if not blocks:
        return json.dumps(plain_data(content), ensure_ascii=False, default=str)
    texts, is_apart = [], False
    for number, block in enumerate(blocks, 1):
        try:
            text, is_inline = _block_text(block, read_file)
        except ConfigError as error:
            raise ConfigError(f"block {number}: {error}") from None
        texts.append(text)
        is_apart = is_apart or not is_inline
    # Chat APIs cut one text into blocks anywhere; a file or data is none of its words.
    return ("\n\n" if is_apart else "").join(texts)


def plain_data(value: Any) -> Any:
    """Return a value without blocks of text, in place of which it has their text; refuses pictures and the like.

    >>> plain_data({"role": "user", "content": [{"type": "text", "text": "Hi"}]})
    {'role': 'user', 'content': 'Hi'}
    """
    if isinstance(value, Mapping):
        if (what := _medium(value)) is not None:
            raise ConfigError(what)
        if "role" in value and isinstance(value.get("content"), (list, tuple)):
            return {**value, "content": content_text(value["content"])}
        return {key: plain_data(item) for key, item in value.items()}
    if not isinstance(value, (list, tuple)):
        return value
    if value and all(_is_text(item) for item in value):
        return content_text(value)
    return [_item(item, number) for number, item in enumerate(value, 1)]


def _item(item: Any, number: int) -> Any:
    try:
        return plain_data(item)
    except ConfigError as error:
        if not isinstance(item, Mapping):
            raise
        word = "message" if "role" in item else "block"
        raise ConfigError(f"{word} {number}{',' if word == 'message' else ':'} {error}") from None


def _blocks(content: object) -> Sequence[Any]:
    """Return the blocks of a content; none where it is data."""
    if isinstance(content, Mapping):
        kind = content.get("type")
        return [content] if isinstance(kind, str) and (kind in _TEXTS or kind in _MEDIA) else ()
    if not isinstance(content, (list, tuple)):
        return ()
    is_in_blocks = all(isinstance(part, (str, Mapping)) for part in content) and any(map(_is_block, content))
    return content if is_in_blocks or all(isinstance(part, str) for part in content) else ()


def _has_payload(value: Mapping[str, Any], kind: str) -> bool:
    if _MEDIA[kind] in _SEEN_OR_HEARD:
        return not _PAYLOADS.isdisjoint(value)
    is_named_file = kind == _FILE and isinstance(value.get("value"), str)
    is_mapped = any(isinstance(value.get(name), Mapping) for name in _MAPPED_PAYLOADS)
    return is_named_file or is_mapped or not _DOCUMENT_PAYLOADS.isdisjoint(value)


def _is_block(part: object) -> bool:
    return isinstance(part, Mapping) and (
        isinstance(part.get("type"), str) or isinstance(part.get("text"), str) or _medium(part) is not None
    )


def _is_text(value: object) -> bool:
    kind = value.get("type") if isinstance(value, Mapping) else None
    return isinstance(kind, str) and kind in _TEXTS and _text_of(value, kind) is not None  # type: ignore[arg-type]


def _block_text(block: str | Mapping[str, Any], read_file: ReadFile | None) -> tuple[str, bool]:
    """Return the text of a block, and whether it continues the text before it."""
    if isinstance(block, str):
        return block, True
    kind = block.get("type")
    if kind == _FILE and isinstance(path := block.get("value"), str):
        if read_file is None:
            raise ConfigError(f"the file {path!r:.200} is not read here, only in a suite; read it, and give its text")
        return read_file(path), False
    if (what := _medium(block)) is not None:
        raise ConfigError(what)
    if not isinstance(kind, str):
        text = block.get("text")
        return (text, True) if isinstance(text, str) else (_as_json(block), False)
    if kind in _TEXTS:
        text = _text_of(block, kind)
        if text is None:
            raise ConfigError(f"a block of type {kind} needs {_TEXTS[kind][0]}, a text; got {dict(block)!r:.120}")
        return text, True
    if kind in _DATA:
        return _as_json(block), False
    if kind in _MEDIA:
        raise ConfigError(_refusal(kind, _MEDIA[kind]))
    raise ConfigError(f"no block type {kind!r:.80}; write {{type: text, text: …}}, and data as JSON in it")


def _text_of(block: Mapping[str, Any], kind: str) -> str | None:
    texts = [text for name in _TEXTS[kind] if isinstance(text := block.get(name), str)]
    return texts[0] if texts else None


def _as_json(block: Mapping[str, Any]) -> str:
    return json.dumps({key: plain_data(value) for key, value in block.items()}, ensure_ascii=False, default=str)


def _medium(value: Mapping[str, Any]) -> str | None:
    """Say what a mapping brings that is no text; None where it is plain data."""
    kind = value.get("type")
    if isinstance(kind, str) and kind in _MEDIA and _has_payload(value, kind):
        return _refusal(kind, _MEDIA[kind])
    for name in _UNTYPED:
        if isinstance(value.get(name), Mapping):
            return _medium(value[name]) or _refusal(name, "no text")
    for name in _MIME_TYPES:
        mime = value.get(name)
        if isinstance(mime, str) and "data" in value:
            what = _MIME_KINDS.get(mime) or _MIME_KINDS.get(mime.partition("/")[0])
            if what is not None:
                return _refusal(mime[:80], what)
    return None


def _refusal(name: str, what: str) -> str:
    return f"{name} is {what}, and {_AS_TEXT}"
