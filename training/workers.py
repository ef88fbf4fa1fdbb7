"""Worker threads that share the rows of a forward pass or a minibatch.

Torch's own threads meet at a barrier after every operation, and spin there: when another process takes a core, a
network of this size becomes up to ten times *slower* with two of them than with one (measured; the table is in the
README). Here each worker takes a fixed part of the rows through the whole network, and torch's threads are set to one.
The parts depend on the number of workers only, and results are put together in their order: the same bytes each time.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import torch

R = TypeVar("R")

#: Fewer rows than this per worker are not worth handing over.
MIN_ROWS = 32


class Workers:
    """`count` workers; one is the calling thread itself."""

    def __init__(self, count: int) -> None:
        torch.set_num_threads(1)
        self.count = count
        self._pool: ThreadPoolExecutor | None = None
        if count > 1:
            self._pool = ThreadPoolExecutor(count - 1, "worker", initializer=torch.set_num_threads, initargs=(1,))

    def map_rows(self, work: Callable[[slice], R], num_rows: int) -> list[R]:
        """`work` on each part of rows 0..num_rows-1, at once; the results in order. Exceptions come through."""
        parts = max(1, min(self.count, num_rows // MIN_ROWS))
        edges = [num_rows * part // parts for part in range(parts + 1)]
        slices = [slice(start, stop) for start, stop in pairwise(edges)]
        if self._pool is None or parts == 1:
            return [work(part) for part in slices]
        others = [self._pool.submit(work, part) for part in slices[1:]]
        first = work(slices[0])
        return [first, *(other.result() for other in others)]

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
