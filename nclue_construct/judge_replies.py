"""What comes back from a judge: the text of a reply, and the one JSON object that it holds.

Endpoints give the text as a string, as a list of parts, as a stream of events or as the arguments
of a call; models put reasoning, fences and prose around the object. What is unambiguous is taken;
anything else is no answer, and asked for again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

CUT = "cut"
_FILTERED = frozenset(
    ["content_filter", "refusal", "safety", "prohibited_content", "blocklist", "spii"]
)
_LENGTH = frozenset(["length", "max_tokens", "model_length"])
_HIDDEN_PARTS = frozenset(["thinking", "redacted_thinking", "reasoning", "reasoning_text"])
_TAGS = r"think|thinking|thought|thoughts|reasoning|reflection|analysis|seed:think"
_CLOSED = re.compile(rf"^.*</(?:{_TAGS})>|^.*\u25c1/think\u25b7", re.DOTALL | re.IGNORECASE)
_OPENED = re.compile(rf"<(?:{_TAGS})>|\u25c1think\u25b7", re.IGNORECASE)
_FINAL_CHANNEL = re.compile(r"^.*<\|channel\|>\s*final\s*<\|message\|>", re.DOTALL)


class Malformed(ValueError):  # noqa: N818 (an outcome that is asked again)
    """A reply that does not have the stated shape; the message goes back to the model."""


@dataclass(frozen=True)
class Reply:
    """A reply of an endpoint.

    Args:
        text: What the model says, reasoning that stands apart left out; may be empty.
        finish: "stop", "refused" or "cut".
        tokens_in: Of the request, 0 where the endpoint does not say.
        tokens_out: Of the reply.
    """

    text: str
    finish: str
    tokens_in: int = 0
    tokens_out: int = 0


def parse_reply(content: bytes) -> Reply | None:
    """The reply in the body of an answer, of either protocol; None if it is none."""
    try:
        if content.lstrip()[:6].startswith((b"data:", b"event:", b":")):
            return _streamed(content)
        return _whole(json.loads(content))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return None


def is_filtered(content: bytes) -> bool:
    """Whether an error object says that a filter refused this prompt."""
    try:
        error = json.loads(content)["error"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    if not isinstance(error, dict):
        return False
    inner = error.get("innererror")
    codes = [error.get("code"), error.get("type"), inner.get("code") if inner else None]
    words = " ".join(str(code).lower() for code in codes)
    return any(name in words for name in ("content_filter", "content_policy", "responsibleai"))


def _whole(value: Any) -> Reply:
    usage = _usage(value.get("usage"))
    if "choices" not in value:
        refusal = value.get("stop_reason")
        return Reply(_text(value["content"]), _finish(refusal), *usage)
    choice = value["choices"][0]
    message = choice.get("message") or {"content": choice["text"]}
    if message.get("refusal"):
        return Reply(str(message["refusal"]), "refused", *usage)
    text = _text(message.get("content")) or _arguments(message)
    return Reply(text, _finish(choice.get("finish_reason")), *usage)


def _usage(value: Any) -> tuple[int, int]:
    value = value if isinstance(value, dict) else {}
    pairs = (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
    counts = [next((value[name] for name in pair if type(value.get(name)) is int), 0)
              for pair in pairs]  # fmt: skip
    return counts[0], counts[1]


def _finish(reason: Any) -> str:
    word = str(reason).lower()
    if word in _FILTERED:
        return "refused"
    return CUT if word in _LENGTH else "stop"


def _text(content: Any) -> str:
    """The text of a content: a string, or parts of which only those that speak count."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(_part_text(part) for part in content)


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if part.get("type") in _HIDDEN_PARTS:
        return ""
    if part.get("type") == "tool_use":
        return json.dumps(part["input"])
    text = part.get("text", "")
    return str(text.get("value", "")) if isinstance(text, dict) else text or ""


def _arguments(message: dict[str, Any]) -> str:
    """The arguments of a call, where a model answers by a single one that nobody offered."""
    calls = [call["function"] for call in message.get("tool_calls") or []]
    if message.get("function_call"):
        calls.append(message["function_call"])
    if len(calls) != 1:
        return ""
    given = calls[0]["arguments"]
    return given if isinstance(given, str) else json.dumps(given)


def _streamed(content: bytes) -> Reply | None:
    """A reply that comes as events though none were asked for; None if its end is missing."""
    pieces: list[str] = []
    finish: Any = None
    usage = (0, 0)
    for event in _events(content):
        if "error" in event:
            return None
        choice = (event.get("choices") or [{}])[0]
        delta = choice.get("delta") or event.get("delta") or {}
        if delta.get("type") not in ("thinking_delta", "signature_delta"):
            pieces.append(_text(delta.get("content")) or delta.get("text") or "")
        finish = choice.get("finish_reason") or delta.get("stop_reason") or finish
        one, other = _usage(event.get("usage") or (event.get("message") or {}).get("usage"))
        usage = (one or usage[0], other or usage[1])
    return Reply("".join(pieces), _finish(finish), *usage) if finish else None


def _events(content: bytes) -> Iterator[dict[str, Any]]:
    for line in content.decode("utf-8").splitlines():
        field, _, data = line.partition(":")
        if field == "data" and data.strip() and data.strip() != "[DONE]":
            yield json.loads(data)


def objects_in(text: str) -> list[dict[str, Any]]:
    """The JSON objects of a text, outermost ones, without those of its reasoning.

    Raises:
        Malformed: Reasoning that does not end, or an object that is broken or cut.
    """
    answer = _FINAL_CHANNEL.sub("", _CLOSED.sub("", text))
    if _OPENED.search(answer):
        raise Malformed("its reasoning does not end")
    found: list[dict[str, Any]] = []
    place = answer.find("{")
    while place >= 0:
        value, end = _object_at(answer, place)
        if value is not None and value not in found:
            found.append(value)
        place = answer.find("{", end)
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=lambda pairs: _without_conflict(pairs))


def _object_at(text: str, place: int) -> tuple[dict[str, Any] | None, int]:
    """The object that begins here and its end; no object where a brace is only a mark."""
    if not re.compile(r'\{\s*(?:"|\})').match(text, place):
        return None, place + 1
    try:
        value, end = _DECODER.raw_decode(text, place)
    except (ValueError, RecursionError):
        raise Malformed("it is not one whole JSON object") from None
    return value, end


def _without_conflict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if any(value[name] != given for name, given in pairs):
        raise ValueError("one name with two values")
    return value
