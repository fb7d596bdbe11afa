"""What can go wrong between a question and its answer."""

from __future__ import annotations

NETWORK = "network"  # no connection: no such host, refused, no route, no TLS
CERTIFICATE = "bad_certificate"  # expired, of another name, or signed by nobody known
TIMEOUT = "timeout"
TRUNCATED = "truncated"  # the answer ended early
TOO_LARGE = "too_large"
UNSAFE_URL = "unsafe_url"
REDIRECT_LOOP = "redirect_loop"
UNEXPECTED = "unexpected_answer"  # it cannot be understood
STATUS = "status"  # an error status; which one is in ``status``
POSTPONED = "postponed"  # nothing was asked: the host is left alone for now


class HttpError(Exception):
    """No usable answer.

    Args:
        kind: One of the constants above.
        reason: What happened.
        url: What was asked; empty where the reason holds for the whole host.
        status: Of the answer, if there was one.
        wait_s: What the server asks to wait.
    """

    def __init__(
        self,
        kind: str,
        reason: str,
        url: str = "",
        *,
        status: int | None = None,
        wait_s: float | None = None,
    ) -> None:
        # Servers' words go to terminals and logs: none of them may control those.
        told = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in reason)
        super().__init__(f"{url}: {told}" if url else told)
        self.kind = kind
        self.what = told
        self.url = url
        self.status = status
        self.wait_s = wait_s
        self.is_final = False  # nothing was asked, and nothing will be in this run
