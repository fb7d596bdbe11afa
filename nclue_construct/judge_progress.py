"""How far a judge has come: questions, calls, rate, time left, tokens and what they cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nclue_construct.judge_client import Usage

Tell = Callable[[Callable[[], str]], None]


class JudgePace:
    """Counts the questions of a step.

    Args:
        usage: Of the client that asks.
        prices: Dollars per million tokens, of requests and of replies; None if not known.
        tell: Told after every question, with what makes the line; it may leave lines out.
        clock: For tests.
    """

    def __init__(
        self,
        usage: Usage,
        prices: tuple[float, float] | None = None,
        tell: Tell = lambda line: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._usage = usage
        self._prices = prices
        self._tell = tell
        self._clock = clock
        self.begin("judge", 0)

    def begin(self, step: str, n_questions: int) -> None:
        """A step begins, with so many questions at most."""
        self._step, self._total, self._done = step, n_questions, 0
        self._began = self._clock()
        self._calls_before = self._usage.calls
        self._cached_before = self._usage.from_cache
        self._cost_before = self._cost()

    def done(self, *, is_question: bool = True) -> None:
        """A question is done (False: one that belongs to another)."""
        self._done += is_question
        self._tell(self.text)

    def _cost(self) -> float:
        if self._prices is None:
            return 0.0
        tokens = (self._usage.tokens_in, self._usage.tokens_out)
        return sum(price * count for price, count in zip(self._prices, tokens)) / 1e6

    def text(self) -> str:
        """The line: time left and cost to come as if nothing more were in the cache."""
        usage = self._usage
        calls = usage.calls - self._calls_before
        cached = usage.from_cache - self._cached_before
        seconds = max(self._clock() - self._began, 1e-9)
        line = f"judge, {self._step}: {self._done:,} of {self._total:,} questions, {calls:,} calls"
        line += f" ({calls / seconds:.1f}/s), {cached:,} from cache"
        asked, left = self._done - cached, self._total - self._done
        if left > 0 and asked > 0:
            line += f", at most {_duration(left * seconds / asked)} left"
        line += f"; {usage.tokens_in:,} + {usage.tokens_out:,} tokens"
        if self._prices is not None:
            line += f", ${self._cost():.2f}"
            if left > 0 and asked > 0:
                share = (self._cost() - self._cost_before) / asked
                line += f", about ${self._cost() + left * share:.2f} after this step"
        return line


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
