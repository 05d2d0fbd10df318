"""The messages of a conversation, and what users may write for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from evenhand.domain.content import ReadFile, content_text
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
                f"message {number}: {key} is beside the content, where nobody looks at it, and only text can be "
                "judged; write down in content what it says or shows, as text"
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
    said = [f"[calls {call.get('name')} with {content_text(call.get('args'))}]" for call in calls]
    return f"{message.role}: {' '.join(filter(None, [message.content, *said]))}"
