"""What crosses between the marker and a jailed process: arrays of numbers and short texts, nothing else.

A frame is one letter, the length of what follows in eight bytes, and that many bytes: `A` an array as a .npy
file (never a pickle), `T` a text, `P` a picture as a PNG file. Both sides read frames with these functions;
the side outside takes what it reads for what a stranger wrote, and bounds its size and the time it waits.
"""

from __future__ import annotations

import io
import socket
import struct
import time

import numpy as np

HEAD = struct.Struct(">cQ")
LARGEST = {b"A": 2**26, b"T": 2**20, b"P": 2**21}  # bytes of a frame
NUMBERS = "biuf"  # kinds of numpy types that may cross
PNG = b"\x89PNG\r\n\x1a\n"


class Malformed(Exception):
    """The other side wrote what is no frame."""


class Closed(Exception):
    """The other side is gone."""


class TooLate(Exception):
    """The other side did not answer in time."""


Frame = np.ndarray | str | bytes  # an array, a text, a picture


def packed(frame: Frame) -> bytes:
    """A frame as bytes.

    Raises:
        Malformed: where it is an array of something else than numbers, or too large.
    """
    if isinstance(frame, str):
        letter, body = b"T", frame.encode("utf-8", "replace")
    elif isinstance(frame, bytes):
        letter, body = b"P", frame
    else:
        if frame.dtype.kind not in NUMBERS:
            raise Malformed(f"an array of {frame.dtype}; only numbers cross")
        file = io.BytesIO()
        np.save(file, frame, allow_pickle=False)
        letter, body = b"A", file.getvalue()
    bounded(letter, len(body))
    return HEAD.pack(letter, len(body)) + body


def bounded(letter: bytes, length: int) -> None:
    """Raise Malformed for a frame of no kind that there is, or one that is too large."""
    if letter not in LARGEST:
        raise Malformed("no array, text or picture")
    if length > LARGEST[letter]:
        raise Malformed(f"{length} bytes in one piece; at most {LARGEST[letter]}")


def unpacked(letter: bytes, body: bytes) -> Frame:
    """The frame that these bytes are.

    Raises:
        Malformed: where they are none.
    """
    if letter == b"T":
        return body.decode("utf-8", "replace")
    if letter == b"P" and body.startswith(PNG):
        return body
    if letter != b"A":
        raise Malformed("no array, text or picture")
    try:
        array = np.load(io.BytesIO(body), allow_pickle=False)
    except (ValueError, EOFError, OSError, MemoryError, SyntaxError, TypeError) as error:
        raise Malformed(f"no array: {error}") from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in NUMBERS:
        raise Malformed("an array of something else than numbers")
    return array


def send(channel: socket.socket, *frames: Frame, seconds: float | None = None) -> None:
    """Send frames in one go, or raise Closed or TooLate."""
    data = b"".join(map(packed, frames))
    channel.settimeout(seconds)
    try:
        channel.sendall(data)
    except TimeoutError as error:
        raise TooLate from error
    except OSError as error:
        raise Closed from error


def receive(channel: socket.socket, seconds: float | None = None) -> Frame:
    """The next frame; raises Closed, TooLate or Malformed."""
    until = None if seconds is None else time.monotonic() + seconds
    letter, length = HEAD.unpack(exactly(channel, HEAD.size, until))
    bounded(letter, length)
    return unpacked(letter, exactly(channel, length, until))


def exactly(channel: socket.socket, count: int, until: float | None) -> bytes:
    """That many bytes, before a moment of the monotonic clock."""
    data = bytearray()
    while len(data) < count:
        left = None if until is None else until - time.monotonic()
        if left is not None and left <= 0:
            raise TooLate
        channel.settimeout(left)
        try:
            piece = channel.recv(min(count - len(data), 2**20))
        except TimeoutError as error:
            raise TooLate from error
        except OSError as error:
            raise Closed from error
        if not piece:
            raise Closed
        data += piece
    return bytes(data)
