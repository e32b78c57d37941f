"""Bodies of web answers, read as they come, with a limit on their size and on how slow they may be."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import requests

# Bytes read at once, at most; and bytes per second, below which a server only holds the connection.
PIECE = 1 << 16
SLOWEST = 1_000


class LimitError(Exception):
    """A body is larger, or comes more slowly, than any that is worth waiting for."""


def pieces(
    response: requests.Response,
    *,
    most_bytes: int,
    patience: float,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[bytes]:
    """Yield the body of a streamed answer, decoded, in whatever pieces it comes.

    `iter_content` of requests waits until a whole piece is there: of a byte per second, for hours. Here every packet is
    counted. Bytes that a compressed body unfolds to are counted too, and no more than a piece of them is held.

    Parameters
    ----------
    response : requests.Response
        Asked for with `stream=True`.
    most_bytes : int
        Of the decoded body.
    patience : float
        Seconds that the body may take beyond those at `SLOWEST` bytes per second.
    clock : callable
        Seconds that have passed.

    Raises
    ------
    LimitError
        Where the body is too large or too slow.
    requests.RequestException
        Where the connection breaks or the encoding is damaged, as `iter_content` would.
    """
    import requests
    from urllib3 import exceptions

    start, count = clock(), 0
    while True:
        try:
            piece = response.raw.read1(PIECE, decode_content=True)
        except exceptions.ReadTimeoutError as error:
            raise requests.ConnectionError(error) from error
        except exceptions.ProtocolError as error:
            raise requests.exceptions.ChunkedEncodingError(error) from error
        except exceptions.DecodeError as error:
            raise requests.exceptions.ContentDecodingError(error) from error
        if not piece:
            return
        count += len(piece)
        if count > most_bytes:
            raise LimitError(f"more than {most_bytes:,} bytes came, which is more than there can be")
        if (seconds := clock() - start) > patience + count / SLOWEST:
            raise LimitError(f"{count:,} bytes came in {seconds:.0f} s, which is too slow")
        yield piece


def is_web_page(start: bytes) -> bool:
    """Whether a body that begins so is a page of HTML, as of a login or an error, whatever was asked for."""
    return start.lstrip(b"\xef\xbb\xbf \t\r\n")[:20].lower().startswith((b"<!doctype html", b"<html"))
