"""Ask a language model over HTTP: OpenAI- and Anthropic-compatible endpoints, cached on disk.

A reply is cached under the hash of everything that was asked. A frozen client only reads the
cache, so that a construction can be repeated without network, and fails on anything new.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nclue_core._version import __version__
from nclue_core.errors import InputError, NetworkError, UsageError
from nclue_core.files import write_text
from nclue_core.jsonl import shorten

if TYPE_CHECKING:
    from nclue_http.client import Reply

Protocol = Literal["openai", "anthropic"]
KEY_VARIABLE = "NCLUE_JUDGE_KEY"
_RETRY_STATUS = frozenset([408, 409, 425, 429, 500, 502, 503, 504, 529])
_MAX_REPLY_BYTES = 1 << 20


class Refused(Exception):  # noqa: N818 (an outcome of one question, not a failure of the job)
    """The model declined to answer a question."""


@dataclass(frozen=True)
class Endpoint:
    """Where and how to ask.

    Args:
        url: Full address, ending in ``/chat/completions`` or ``/messages``.
        model: Name of the model.
        protocol: Which of the two forms of request; by default, as the address ends.
        timeout_s: For one request.
        attempts: Requests for one question, at most; 429 and 5xx replies, timeouts and broken
            connections are tried again after a growing wait.
        max_wait_s: Longest wait between two attempts, whatever ``Retry-After`` asks for.
        max_tokens: Of a reply.
    """

    url: str
    model: str
    protocol: Protocol
    timeout_s: float = 60.0
    attempts: int = 4
    max_wait_s: float = 30.0
    max_tokens: int = 1_000

    @property
    def identity(self) -> str:
        """What a release says about its judge; never the address."""
        return f"LLM judge {self.model} ({self.protocol} protocol)"


def make_endpoint(url: str, model: str, protocol: str | None = None, **limits: Any) -> Endpoint:
    """Check an address and recognise its protocol.

    Raises:
        UsageError: Not an http(s) address, no model, or the protocol can't be told.
    """
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"the judge's address must begin with http:// or https://, not {url!r}")
    if not model:
        raise UsageError("name the judge's model")
    path = url.partition("?")[0].rstrip("/")
    by_ending = {"/chat/completions": "openai", "/messages": "anthropic"}
    known = protocol or next((name for end, name in by_ending.items() if path.endswith(end)), None)
    if known not in ("openai", "anthropic"):
        raise UsageError(
            f"{url} ends in neither /chat/completions (OpenAI) nor /messages (Anthropic): say "
            "which protocol it speaks, openai or anthropic"
        )
    return Endpoint(url, model, known, **limits)  # type: ignore[arg-type]


class JudgeClient:
    """Asks questions and remembers the replies.

    Args:
        endpoint: Whom to ask.
        cache: Folder of the replies, one file per question.
        frozen: Only read the cache.
        sleep: For tests.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        cache: Path,
        frozen: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.endpoint = endpoint
        self.cache = cache
        self.frozen = frozen
        self._sleep = sleep

    def ask(self, system: str, question: str) -> str:
        """The text of the reply.

        Raises:
            Refused: The model declined (also remembered).
            InputError: Frozen, and this question was never asked; or a damaged cache file.
            NetworkError: No usable reply after all attempts.
        """
        path = self._cache_path(system, question)
        if not path.is_file():
            if self.frozen:
                raise InputError(
                    "the judge is frozen, and this reply is not in its cache", path=path
                )
            reply = self._post(system, question)
            write_text(path, json.dumps(reply, ensure_ascii=False, sort_keys=True))
        else:
            reply = _read_cache(path)
        if reply["refused"]:
            raise Refused(reply["text"])
        return str(reply["text"])

    def _cache_path(self, system: str, question: str) -> Path:
        asked = (self.endpoint.protocol, self.endpoint.model, system, question)
        digest = hashlib.sha256(json.dumps(asked).encode()).hexdigest()
        return self.cache / digest[:2] / f"{digest}.json"

    def _post(self, system: str, question: str) -> dict[str, Any]:
        from nclue_http.client import retry_after
        from nclue_http.errors import HttpError

        problem = "no attempt was made"
        for attempt in range(self.endpoint.attempts):
            wait: float | None = None
            try:
                answer = self._ask(system, question)
            except HttpError as err:
                problem = err.what
            else:
                shown = shorten(answer.content.decode("utf-8", "replace"))
                if answer.status == 200:
                    reply = _parse_reply(self.endpoint.protocol, answer.content)
                    if reply is not None:
                        return reply
                    problem = f"a reply without text: {shown}"
                else:
                    problem = f"HTTP {answer.status}: {shown}"
                    if answer.status not in _RETRY_STATUS:
                        break
                    wait = retry_after(answer.headers.get("Retry-After"))
            if attempt + 1 < self.endpoint.attempts:
                self._sleep(min(self.endpoint.max_wait_s, wait or 2.0**attempt))
        raise NetworkError(
            f"the judge at {self.endpoint.url} gave no usable reply: {problem}. What was answered "
            "is cached: run the command again to go on"
        )

    def _ask(self, system: str, question: str) -> Reply:
        """One request, whatever the status of its answer; redirects are not followed."""
        from nclue_http.client import Client, HttpSettings

        seconds = self.endpoint.timeout_s
        settings = HttpSettings(
            {"User-Agent": f"nclue/{__version__}"},
            connect_timeout_s=seconds,
            read_timeout_s=seconds,
            total_timeout_s=seconds,
            max_redirects=0,
        )
        with Client(settings) as client:
            return client.ask(
                self.endpoint.url,
                _MAX_REPLY_BYTES,
                json=_request(self.endpoint, system, question),
                headers=_headers(self.endpoint.protocol),
                trusted=True,  # the user named this address
            )


def _headers(protocol: Protocol) -> dict[str, str]:
    key = os.environ.get(KEY_VARIABLE, "")
    if protocol == "anthropic":
        return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}
    return {"Authorization": f"Bearer {key}"} if key else {}


def _request(endpoint: Endpoint, system: str, question: str) -> dict[str, Any]:
    shared = {"model": endpoint.model, "temperature": 0, "max_tokens": endpoint.max_tokens}
    user = {"role": "user", "content": question}
    if endpoint.protocol == "anthropic":
        return {**shared, "system": system, "messages": [user]}
    return {**shared, "messages": [{"role": "system", "content": system}, user]}


def _parse_reply(protocol: Protocol, content: bytes) -> dict[str, Any] | None:
    """Text and refusal of a reply; None if it has neither."""
    try:
        value = json.loads(content)
        return _anthropic_text(value) if protocol == "anthropic" else _openai_text(value)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return None


def _openai_text(value: Any) -> dict[str, Any] | None:
    choice = value["choices"][0]
    message = choice["message"]
    refused = bool(message.get("refusal")) or choice.get("finish_reason") == "content_filter"
    text = message.get("refusal") or message.get("content") or ""
    return {"text": text, "refused": refused} if text or refused else None


def _anthropic_text(value: Any) -> dict[str, Any] | None:
    text = "".join(part["text"] for part in value["content"] if part.get("type") == "text")
    refused = value.get("stop_reason") == "refusal"
    return {"text": text, "refused": refused} if text or refused else None


def _read_cache(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as err:
        raise InputError(f"a damaged reply ({err}); delete it", path=path) from None
    if not isinstance(value, dict) or set(value) != {"text", "refused"}:
        raise InputError("not a cached reply; delete it", path=path)
    return value
