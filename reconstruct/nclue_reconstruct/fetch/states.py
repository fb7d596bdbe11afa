"""What can become of fetching one document: states, and the error that carries one."""

from __future__ import annotations

from dataclasses import dataclass

from nclue_http import errors
from nclue_http.errors import HttpError

OK = "ok"
CHANGED = "changed_at_source"  # a PDF with another hash; kept aside as .mismatch
NOT_PDF = "not_pdf"  # a web page, a notice, anything that is no PDF
GONE = "gone"  # 404, 410, or not in the mirror
FORBIDDEN = "forbidden"  # 401, 403, 451
RATE_LIMITED = "rate_limited"  # asked to wait longer than we do in one run
SERVER_ERROR = "server_error"  # 5xx to the end
UNEXPECTED = errors.UNEXPECTED  # any other status: 204, 300, 400, 406 ...
TIMEOUT = errors.TIMEOUT
TRUNCATED = errors.TRUNCATED  # fewer bytes than announced or recorded, again and again
TOO_LARGE = errors.TOO_LARGE
UNSAFE_URL = errors.UNSAFE_URL
BAD_ROW = "bad_row"  # its ID cannot be a file name, or its hash is none
NETWORK = errors.NETWORK  # no connection, no such host
CERTIFICATE = errors.CERTIFICATE  # of the host: expired, of another name, or of nobody known
POSTPONED = errors.POSTPONED  # the host is left alone in this run; the next one asks again
REDIRECT_LOOP = errors.REDIRECT_LOOP  # more redirects than are followed
LANDING_ONLY = "landing_only"  # only a web page about the document is known
FETCH_STATES = (
    OK, CHANGED, NOT_PDF, GONE, FORBIDDEN, RATE_LIMITED, SERVER_ERROR, UNEXPECTED, TIMEOUT,
    TRUNCATED, TOO_LARGE, UNSAFE_URL, BAD_ROW, REDIRECT_LOOP, NETWORK, CERTIFICATE, POSTPONED,
    LANDING_ONLY,
)  # fmt: skip
RETRIED = frozenset([RATE_LIMITED, SERVER_ERROR, TIMEOUT, TRUNCATED, NETWORK])

_BY_STATUS = {404: GONE, 410: GONE, 401: FORBIDDEN, 403: FORBIDDEN, 451: FORBIDDEN,
              429: RATE_LIMITED, 503: RATE_LIMITED, 408: TIMEOUT}  # fmt: skip


def state_of_status(status: int) -> str:
    """The state of an HTTP status that brings no file."""
    return _BY_STATUS.get(status, SERVER_ERROR if status >= 500 else UNEXPECTED)


@dataclass(frozen=True)
class FetchResult:
    """What became of one document."""

    state: str  # one of FETCH_STATES
    reason: str  # empty where ok
    n_bytes: int | None = None
    sha256: str | None = None  # of what was received, also where it is not the recorded one
    attempts: int = 0
    seconds: float = 0.0


class FetchError(HttpError):
    """A try that failed; ``state`` is one of FETCH_STATES, ``reason`` says all there is to say."""

    def __init__(self, state: str, reason: str, wait_s: float | None = None, url: str = "") -> None:
        super().__init__(state, reason, wait_s=wait_s)
        self.state = state
        self.reason = self.what
        self.url = url

    def result(self, attempts: int, seconds: float) -> FetchResult:
        """The end of the document, if there is no other try."""
        return FetchResult(self.state, self.reason, attempts=attempts, seconds=seconds)


def fetch_error(err: HttpError) -> FetchError:
    """The failure of HTTP as the state of a document."""
    if isinstance(err, FetchError):
        return err
    state = err.kind if err.status is None else state_of_status(err.status)
    failure = FetchError(state, str(err), err.wait_s, err.url)
    failure.is_final = err.is_final or state == POSTPONED
    return failure


class ChangedError(FetchError):
    """Another PDF than the recorded one came."""

    def __init__(self, reason: str, n_bytes: int, sha256: str) -> None:
        super().__init__(CHANGED, reason)
        self.n_bytes = n_bytes
        self.sha256 = sha256

    def result(self, attempts: int, seconds: float) -> FetchResult:
        """With the size and hash that were found."""
        return FetchResult(CHANGED, self.reason, self.n_bytes, self.sha256, attempts, seconds)
