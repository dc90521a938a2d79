"""RIPP's datagrams decoded from `docs/src/ripp-format.md` alone: a second implementation, to hold the first against."""

import struct
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

CLEAR_HEADER = 5
TAG = 16
EPOCH_BITS = 22
NUMBER_SPAN = 1 << 24
CHUNK = 1 << 16
MOST_RANGES = 300
KEY_BYTES = {"aes128-gcm": 16, "aes256-gcm": 32, "chacha20-poly1305": 32}


class Refused(Exception):
    """Bytes that are not a datagram or a frame of version 2."""


def expand(secret: bytes, length: int, info: bytes) -> bytes:
    """HKDF-Expand of RFC 5869 with SHA-256."""
    return HKDFExpand(SHA256(), length, info).derive(secret)


SIDES = {"dialer": b"d", "listener": b"l"}


def aead_of(cipher: str, key: bytes) -> AESGCM | ChaCha20Poly1305:
    """The cipher of that name under a key of as many of these bytes as it takes."""
    key = key[: KEY_BYTES[cipher]]
    return ChaCha20Poly1305(key) if cipher.startswith("chacha") else AESGCM(key)


def digest(session: bytes, cipher: str, side: str, number: int, content: bytes) -> bytes:
    """The digest of an object that one end sends."""
    aead = aead_of(cipher, expand(session, 32, b"ripp digest" + SIDES[side]))
    chunks = [content[at : at + CHUNK] for at in range(0, len(content), CHUNK)]
    tags = [aead.encrypt(struct.pack(">IQ", number, at), b"", chunk) for at, chunk in enumerate(chunks)]
    return sha256(b"".join(tags)).digest()


@dataclass
class Lane:
    """What one end sends on one lane."""

    cipher: str
    secret: bytes

    @classmethod
    def derive(cls, session: bytes, cipher: str, lane: int, side: str) -> "Lane":
        info = b"ripp lane" + SIDES[side] + struct.pack(">H", lane)
        return cls(cipher, expand(session, 32, info))

    @property
    def key_id(self) -> int:
        return int.from_bytes(expand(self.secret, 2, b"ripp key id"), "big") & 0xFFF

    def open(self, datagram: bytes, end: int) -> tuple[int, bytes]:
        """Packet number and frame of a datagram, where `end` is one more than the highest number accepted before."""
        if len(datagram) < CLEAR_HEADER + TAG:
            raise Refused("too short")
        if int.from_bytes(datagram[:2], "big") != 2 << 12 | self.key_id:
            raise Refused("version or key")
        number = nearest(int.from_bytes(datagram[2:5], "big"), end)
        epoch = struct.pack(">Q", number >> EPOCH_BITS)
        aead = aead_of(self.cipher, expand(self.secret, 32, b"ripp key" + epoch))
        iv = expand(self.secret, 12, b"ripp iv" + epoch)
        nonce = bytes(a ^ b for a, b in zip(iv, bytes(4) + struct.pack(">Q", number), strict=True))
        try:
            return number, aead.decrypt(nonce, datagram[CLEAR_HEADER:], datagram[:CLEAR_HEADER])
        except InvalidTag as error:
            raise Refused("not authentic") from error


def nearest(low: int, end: int) -> int:
    """The number closest to `end`, and not negative, that leaves `low` when it is divided by `NUMBER_SPAN`."""
    laps = range(max(end // NUMBER_SPAN - 1, 0), end // NUMBER_SPAN + 2)
    return min((lap * NUMBER_SPAN + low for lap in laps), key=lambda number: abs(number - end))


class Reader:
    """Takes big-endian integers off the front of a frame."""

    def __init__(self, frame: bytes) -> None:
        self.rest = frame

    def take(self, count: int) -> bytes:
        if len(self.rest) < count:
            raise Refused("ends early")
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def integer(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")

    def varint(self) -> int:
        value = 0
        for shift in range(0, 35, 7):
            byte = self.integer(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise Refused("integer without end")

    def fields(self, **widths: int) -> dict[str, Any]:
        return {name: self.integer(width) for name, width in widths.items()}


def decode(frame: bytes) -> dict[str, Any]:
    """A frame as a dictionary."""
    if frame and frame[0] >= 0x80:
        return {"kind": "data"} | data(Reader(frame))
    reader = Reader(frame)
    kinds = {2: report, 3: ping, 4: pong}
    kind = kinds.get(reader.integer(1))
    if kind is None:
        raise Refused("unknown kind")
    return {"kind": kind.__name__} | kind(reader)


def data(reader: Reader) -> dict[str, Any]:
    fields = reader.fields(object_low=3, sent_us=3, offset=6)
    if not reader.rest:
        raise Refused("no bytes")
    return fields | {
        "object_low": fields["object_low"] & 0x7F_FFFF,
        "sent_us": 4 * fields["sent_us"],
        "payload": reader.rest.hex(),
    }


def report(reader: Reader) -> dict[str, Any]:
    fields = reader.fields(busy=1, interval_us=4, highest=8, echo_us=4, hold_us=4, now_us=4, bytes=6)
    fields |= reader.fields(marked=4, kernel_drops=4, late=4)
    fields |= reader.fields(delay_least_us=4, delay_most_us=4, span_us=4, span_bytes=4)
    fields |= reader.fields(credit=8, most_rate_bps=8, lifetime_ms=4)
    page = reader.fields(**{"from": 8, "to": 8})
    count = reader.integer(2)
    if page["to"] < page["from"] or count > MOST_RANGES:
        raise Refused("page")
    missing, at = [], page["from"]
    for _ in range(count):
        first = at + reader.varint()
        length = reader.varint() + 1
        at = first + length
        if at > page["to"]:
            raise Refused("range beyond its page")
        missing.append([first, length])
    return fields | {"page": page | {"missing": missing}}


def ping(reader: Reader) -> dict[str, Any]:
    reader.take(1)
    return reader.fields(size=4, sent_us=4, challenge=8, settled=8, report_interval_us=4)


def pong(reader: Reader) -> dict[str, Any]:
    reader.take(1)
    return reader.fields(size=4, sent_us=4, challenge=8, hold_us=4)
