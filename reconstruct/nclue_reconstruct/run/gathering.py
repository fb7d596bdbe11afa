"""What threads put into a queue, for the thread that reads: results, errors, and their ends."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import TypeVar

Item = TypeVar("Item")


def gather(ended: queue.SimpleQueue[Item | BaseException | None], running: int) -> Iterator[Item]:
    """Yield results as they come, until all threads have put None.

    Args:
        ended: Each thread puts its results, an error that ends the run, and None as its last.
        running: How many threads there are.

    Raises:
        BaseException: The first error that a thread has put.
    """
    while running:
        item = ended.get()
        if item is None:
            running -= 1
        elif isinstance(item, BaseException):
            raise item
        else:
            yield item
