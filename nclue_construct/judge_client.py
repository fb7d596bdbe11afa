"""Ask a language model over HTTP: OpenAI- and Anthropic-compatible endpoints, cached on disk.

A proper answer is cached under the hash of what was asked; a reply that is none never is, so that
asking again really asks. A frozen client only reads the cache, so that a construction can be
repeated without network, and fails on anything new.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nclue_construct.judge_replies import CUT, Malformed, Reply, is_filtered, parse_reply
from nclue_construct.judge_requests import (
    KEY_VARIABLE,
    Endpoint,
    RequestForm,
    headers,
    make_endpoint,
    option_hint,
)
from nclue_core._version import __version__
from nclue_core.errors import InputError, NetworkError
from nclue_core.files import write_text
from nclue_core.jsonl import shorten

if TYPE_CHECKING:
    from nclue_http.client import Reply as HttpReply

__all__ = ["KEY_VARIABLE", "Endpoint", "JudgeClient", "Refused", "Unclear", "make_endpoint"]

Answer = TypeVar("Answer")
MAX_TRIES = 3  # for a well-formed reply
_RETRY_STATUS = frozenset([408, 409, 425, 429, 500, 502, 503, 504, 529])
_BAD_PROMPT = frozenset([400, 413, 422])  # of this question, not of the whole job
_MAX_REPLY_BYTES = 1 << 20


class Refused(Exception):  # noqa: N818 (an outcome of one question, not a failure of the job)
    """The model, or a filter before it, declined to answer a question."""


class Unclear(Exception):  # noqa: N818 (an outcome of one question, not a failure of the job)
    """No proper answer to a question after all tries.

    Args:
        problem: What was wrong with the last reply.
        example: The beginning of that reply.
    """

    def __init__(self, problem: str, example: str) -> None:
        super().__init__(problem)
        self.example = example


@dataclass
class Usage:
    """What asking has cost so far, in this run."""

    calls: int = 0
    from_cache: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


class JudgeClient:
    """Asks questions and remembers the answers.

    Args:
        endpoint: Whom to ask.
        cache: Folder of the answers, one file per question.
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
        self.usage = Usage()
        self._sleep = sleep
        asked = (endpoint.url, endpoint.protocol, endpoint.model, *RequestForm.of(endpoint).first())
        self._form_path = cache / "forms" / f"{_digest(asked)}.json"
        self._form = RequestForm.of(endpoint, _read_form(self._form_path))

    def ask(
        self,
        system: str,
        question: str,
        read: Callable[[str], Answer] = str,  # type: ignore[assignment]
    ) -> Answer:
        """What ``read`` makes of the reply.

        A reply that ``read`` calls `Malformed` is asked for again with what was wrong, a few
        times; where it was cut, with room for a longer one.

        Raises:
            Refused: The model declined (also remembered).
            Unclear: No proper reply after all tries (not remembered, but for frozen clients).
            InputError: Frozen, and this question was never answered; or a damaged cache file.
            NetworkError: No reply after all attempts.
        """
        path = self._cache_path(system, question)
        if path.is_file():
            kept = _read_cache(path)
            self.usage.from_cache += 1
            if kept["refused"]:
                raise Refused(kept["text"])
            try:
                return read(str(kept["text"]))
            except Malformed as err:  # of an earlier version, which kept every reply
                if self.frozen:
                    raise Unclear(str(err), str(kept["text"])) from None
        unclear = path.with_suffix(".unclear")
        if self.frozen:
            _raise_frozen(path, unclear)
        try:
            return self._ask_anew(path, system, question, read)
        except Unclear as err:
            _keep(unclear, {"problem": str(err), "text": err.example})
            raise

    def _ask_anew(
        self, path: Path, system: str, question: str, read: Callable[[str], Answer]
    ) -> Answer:
        asked, problem = question, ""
        for _ in range(MAX_TRIES):
            reply = self._reply(system, asked)
            if reply.finish == "refused":
                _keep(path, {"text": reply.text, "refused": True})
                raise Refused(reply.text)
            try:
                answer = read(reply.text)
            except Malformed as err:
                problem = f"{err}, and it was cut" if reply.finish == CUT else str(err)
                asked = f"{question}\nYour last answer was not usable: {problem}."
            else:
                _keep(path, {"text": reply.text, "refused": False})
                return answer
        raise Unclear(f"malformed after {MAX_TRIES} tries: {problem}", shorten(reply.text))

    def _cache_path(self, system: str, question: str) -> Path:
        digest = _digest((self.endpoint.protocol, self.endpoint.model, system, question))
        return self.cache / digest[:2] / f"{digest}.json"

    def _reply(self, system: str, question: str) -> Reply:
        """A reply with text, or a refusal."""
        problem, wait, is_mute, attempt = "no attempt was made", None, False, 0
        while attempt < self.endpoint.attempts:
            answer, problem = self._post(system, question)
            if answer is not None:
                found = self._judge_answer(answer)
                if isinstance(found, Reply):
                    return found
                problem, wait = found
                if problem == _ADAPTED:
                    continue
            is_mute = answer is not None and answer.status == 200
            attempt += 1
            if attempt < self.endpoint.attempts:
                self._sleep(min(self.endpoint.max_wait_s, wait or 2.0 ** (attempt - 1)))
        if is_mute:
            raise Unclear(f"no text in {attempt} replies", problem)
        raise self._no_reply(problem)

    def _judge_answer(self, answer: HttpReply) -> Reply | tuple[str, float | None]:
        """A reply, or why there is none and how long to wait; raises where waiting won't help."""
        from nclue_http.client import retry_after

        shown = shorten(answer.content.decode("utf-8", "replace"))
        if is_filtered(answer.content):
            return Reply(shown, "refused")
        if answer.status == 200:
            reply = parse_reply(answer.content)
            if reply is not None:
                self._note(reply)
                if reply.finish == "refused" or reply.text.strip():
                    return reply
            return f"a reply without text: {shown}", None
        problem = f"HTTP {answer.status}: {shown}"
        if answer.status in _RETRY_STATUS:
            return problem, retry_after(answer.headers.get("Retry-After"))
        if answer.status not in _BAD_PROMPT:
            raise self._no_reply(problem)
        if not self._form.adapt(self.endpoint.protocol, answer.content):
            raise Unclear(f"the question was not taken{option_hint(shown)}", problem)
        _keep(self._form_path, self._form.to_json())
        return _ADAPTED, None

    def _note(self, reply: Reply) -> None:
        self.usage.tokens_in += reply.tokens_in
        self.usage.tokens_out += reply.tokens_out
        if reply.finish == CUT and self._form.raise_tokens(self.endpoint):
            _keep(self._form_path, self._form.to_json())

    def _no_reply(self, problem: str) -> NetworkError:
        return NetworkError(
            f"the judge at {self.endpoint.url} gave no usable reply: {problem}. What was answered "
            "is cached: run the command again to go on"
        )

    def _post(self, system: str, question: str) -> tuple[HttpReply | None, str]:
        """One request: its answer whatever the status, or why there is none. No redirects."""
        from nclue_http.client import Client, HttpSettings
        from nclue_http.errors import HttpError

        seconds = self.endpoint.timeout_s
        settings = HttpSettings(
            {"User-Agent": f"nclue/{__version__}"},
            connect_timeout_s=seconds,
            read_timeout_s=seconds,
            total_timeout_s=seconds,
            max_redirects=0,
        )
        self.usage.calls += 1
        try:
            with Client(settings) as client:
                return client.ask(
                    self.endpoint.url,
                    _MAX_REPLY_BYTES,
                    json=self._form.body(self.endpoint, system, question),
                    headers=headers(self.endpoint.protocol),
                    trusted=True,  # the user named this address
                ), ""
        except HttpError as err:
            return None, err.what


_ADAPTED = "the request was changed"


def _digest(asked: tuple[Any, ...]) -> str:
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def _keep(path: Path, value: dict[str, Any]) -> None:
    write_text(path, json.dumps(value, ensure_ascii=False, sort_keys=True))


def _raise_frozen(path: Path, unclear: Path) -> None:
    if not unclear.is_file():
        raise InputError("the judge is frozen, and this reply is not in its cache", path=path)
    value = _read_json(unclear, {"problem", "text"})
    raise Unclear(value["problem"], value["text"])


def _read_form(path: Path) -> dict[str, Any] | None:
    return _read_json(path, None) if path.is_file() else None


def _read_cache(path: Path) -> dict[str, Any]:
    return _read_json(path, {"text", "refused"})


def _read_json(path: Path, names: set[str] | None) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as err:
        raise InputError(f"a damaged reply ({err}); delete it", path=path) from None
    if not isinstance(value, dict) or (names is not None and set(value) != names):
        raise InputError("not a cached reply; delete it", path=path)
    return value
