"""What is sent to a judge, and how it is changed for endpoints that refuse a part of it."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from nclue_core.errors import UsageError

Protocol = Literal["openai", "anthropic"]
KEY_VARIABLE = "NCLUE_JUDGE_KEY"
MAX_TOKENS_RAISED = 8  # times the limit asked for, at most, where replies are cut
_TOKEN_FIELDS = ("max_tokens", "max_completion_tokens")
_OPTIONS = {
    "max_tokens": "--judge-token-field", "max_completion_tokens": "--judge-token-field",
    "temperature": "--judge-temperature none", "response_format": "no --judge-json",
}  # fmt: skip


@dataclass(frozen=True)
class Endpoint:
    """Where and how to ask.

    Args:
        url: Full address, ending in ``/chat/completions`` or ``/messages``.
        model: Name of the model.
        protocol: Which of the two forms of request; by default, as the address ends.
        timeout_s: For one request.
        attempts: Requests for one question, at most; 429 and 5xx replies, timeouts, broken
            connections and replies without text are tried again after a growing wait.
        max_wait_s: Longest wait between two attempts, whatever ``Retry-After`` asks for.
        max_tokens: Of a reply. Where replies are cut it is raised, up to 8 times.
        token_field: Name of that limit in a request; None sends no limit.
        temperature: None sends none.
        json_mode: Ask the server for JSON only (``response_format``).
    """

    url: str
    model: str
    protocol: Protocol
    timeout_s: float = 60.0
    attempts: int = 4
    max_wait_s: float = 30.0
    max_tokens: int = 1_000
    token_field: str | None = "max_tokens"  # noqa: S105
    temperature: float | None = 0
    json_mode: bool = False

    @property
    def identity(self) -> str:
        """What a release says about its judge; never the address."""
        return f"LLM judge {self.model} ({self.protocol} protocol)"


def make_endpoint(url: str, model: str, protocol: str | None = None, **options: Any) -> Endpoint:
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
    return Endpoint(url, model, known, **options)  # type: ignore[arg-type]


@dataclass
class RequestForm:
    """The optional parts of a request, as far as the endpoint takes them."""

    token_field: str | None
    max_tokens: int
    temperature: float | None
    json_mode: bool
    system_apart: bool = True  # False: the instructions stand in the user's message
    swapped: bool = False  # the other name of the token limit has been tried

    @classmethod
    def of(cls, endpoint: Endpoint, known: dict[str, Any] | None = None) -> RequestForm:
        """What to try first, or what was found out before."""
        own = {"token_field", "max_tokens", "temperature", "json_mode"}
        first = {name: getattr(endpoint, name) for name in own}
        names = {field.name for field in fields(cls)}
        if known is not None and set(known) == names:
            first = known
        return cls(**first)

    def first(self) -> tuple[Any, ...]:
        """The user's choices, as a key of what is found out for them."""
        return (self.token_field, self.max_tokens, self.temperature, self.json_mode)

    def to_json(self) -> dict[str, Any]:
        """The record to be remembered."""
        return asdict(self)

    def body(self, endpoint: Endpoint, system: str, question: str) -> dict[str, Any]:
        """The JSON of a request."""
        if not self.system_apart:
            question = f"{system}\n\n{question}"
        value: dict[str, Any] = {"model": endpoint.model}
        if self.temperature is not None:
            value["temperature"] = self.temperature
        user = {"role": "user", "content": question}
        if endpoint.protocol == "anthropic":
            apart = {"system": system} if self.system_apart else {}
            return {**value, **apart, "max_tokens": self.max_tokens, "messages": [user]}
        if self.token_field is not None:
            value[self.token_field] = self.max_tokens
        if self.json_mode:
            value["response_format"] = {"type": "json_object"}
        first = [{"role": "system", "content": system}] if self.system_apart else []
        return {**value, "messages": [*first, user]}

    def adapt(self, protocol: Protocol, error: bytes) -> bool:
        """Leave out or rename what an error says is not taken; False if there is nothing."""
        text = error.decode("utf-8", "replace")
        names = [_refused_parameter(error)] if _refused_parameter(error) else _mentioned(text)
        for name in names:
            if name == self.token_field and protocol == "openai":
                return self._swap_token_field()
            if name == "temperature" and self.temperature is not None:
                self.temperature = None
                return True
            if name == "response_format" and self.json_mode:
                self.json_mode = False
                return True
            if name == "system" and self.system_apart:
                self.system_apart = False
                return True
        return False

    def _swap_token_field(self) -> bool:
        """Try the other name once, then no limit."""
        others = [name for name in _TOKEN_FIELDS if name != self.token_field]
        self.token_field = None if self.swapped else others[0]
        self.swapped = True
        return True

    def raise_tokens(self, endpoint: Endpoint) -> bool:
        """Allow longer replies after one was cut; False if they are as long as they may be."""
        raised = min(2 * self.max_tokens, MAX_TOKENS_RAISED * endpoint.max_tokens)
        changed, self.max_tokens = raised != self.max_tokens, raised
        return changed


def _refused_parameter(error: bytes) -> str:
    """The parameter that an error object names, or the empty string."""
    try:
        value = json.loads(error)
        found = value["error"]["param"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    if not isinstance(found, str):
        return ""
    is_role = found.startswith("messages") and "system" in error.decode("utf-8", "replace")
    return "system" if is_role else found


def _mentioned(text: str) -> list[str]:
    """The parameters that a message speaks of, in its order."""
    names = r"\b(max_tokens|max_completion_tokens|temperature|response_format)\b"
    found = re.findall(names, text)
    system = re.search(r"\b(?:system|developer)\W.{0,20}\b(?:role|message|instruction)", text, re.I)
    return [*found, "system"] if system else found


def option_hint(text: str) -> str:
    """Which options leave out what an error speaks of."""
    options = sorted({_OPTIONS[name] for name in _mentioned(text) if name in _OPTIONS})
    return f" (see {', '.join(options)})" if options else ""


def headers(protocol: Protocol) -> dict[str, str]:
    """Headers with the key of the environment; it stands nowhere else."""
    key = os.environ.get(KEY_VARIABLE, "")
    if protocol == "anthropic":
        return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}
    return {"Authorization": f"Bearer {key}"} if key else {}
