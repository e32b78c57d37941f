"""Damage as disks, networks and editors do it, drawn from a seed: what every reader of files is tried with."""

from random import Random

INSERTED = [b"\xff\xff\xff\xff", bytes(8), b'"', b",", b"\n", b"[", b"{", b"1e999", b"nan", b"\x1b[31m", b"-1", b"<"]
RUBBISH = [
    b"",
    b"<html></html>",
    bytes(100),
    b"null",
    b"{}",
    b"[1]",
    b'"x"',
    b"PK\x03\x04",
    b"a,b\n1,2\n",
    b"<svg></svg>",
]


def damage(content: bytes, rng: Random) -> bytes:
    """The bytes of a file with flipped bits, a piece cut off, zeroed, put in or doubled, or rubbish in its place."""
    spoiled, place = bytearray(content), rng.randrange(len(content))
    length = rng.choice([1, 8, 40, 200])
    kind = rng.choices(["flip", "cut", "zero", "insert", "double", "rubbish"], [10, 3, 2, 2, 2, 1])[0]
    if kind == "flip":
        for _ in range(rng.choice([1, 1, 3, 10])):
            spoiled[rng.randrange(len(spoiled))] ^= 1 << rng.randrange(8)
    elif kind == "cut":
        del spoiled[place:]
    elif kind == "zero":
        spoiled[place : place + length] = bytes(length)
    elif kind == "insert":
        spoiled[place:place] = rng.choice(INSERTED)
    elif kind == "double":
        spoiled[place:place] = spoiled[place : place + length]
    else:
        return rng.choice(RUBBISH)
    return bytes(spoiled)
