"""One thread for small matrices: what threads save there is less than what it costs them to meet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

# Columns up to which matrices of columns × columns count as small, and multiplications up to which a product of tables
# is done in a second by one thread.
SMALL = 256
QUICK = 5_000_000_000


@contextmanager
def few_threads(n_columns: int, n_rows: int = 0) -> Iterator[None]:
    """Let linear algebra use one thread within, where there are few columns, and not very many rows if these count.

    OpenBLAS starts a thread per core whatever the size, and they wait for each other in a loop. Where other processes
    want the cores too, a fit on 40 columns, hundreds of small decompositions, then takes 30 times as long. One thread
    also adds up in one order, so that the digits do not depend on the number of cores.
    """
    if n_columns > SMALL or n_rows * n_columns**2 > QUICK:
        yield
        return
    with _linear_algebra().limit(limits=1):
        yield


@cache
def _linear_algebra() -> ThreadpoolController:
    """Find the libraries of linear algebra that are loaded, once: to look for them takes as long as a small fit."""
    import scipy.linalg  # noqa: F401  it may have a library of its own

    return ThreadpoolController().select(user_api="blas")
