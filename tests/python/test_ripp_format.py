"""RIPP's vectors in `testdata/ripp/`, opened and decoded by a second implementation."""

import json
from pathlib import Path
from typing import Any

import pytest
from ripp_format import Lane, Refused, decode, digest

FOLDER = Path(__file__).parents[2] / "testdata" / "ripp"
FRAMES = json.loads((FOLDER / "frames.json").read_text())
SEALED = json.loads((FOLDER / "sealed.json").read_text())
DIGESTS = json.loads((FOLDER / "digests.json").read_text())
MESSAGES = json.loads((FOLDER / "messages.json").read_text())


def lane_of(vector: dict[str, Any]) -> Lane:
    return Lane.derive(bytes.fromhex(vector["session"]), vector["cipher"], vector["lane"], vector["from"])


def name_of(vector: dict[str, Any]) -> str:
    return f"{vector['cipher']}-{vector['number']}"


@pytest.mark.parametrize("vector", FRAMES["good"], ids=lambda vector: vector["name"])
def test_frames_mean_what_is_said_of_them(vector: dict[str, Any]) -> None:
    assert decode(bytes.fromhex(vector["bytes"])) == vector["meaning"]


@pytest.mark.parametrize("vector", FRAMES["refused"], ids=lambda vector: vector["name"])
def test_damaged_frames_are_refused(vector: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        decode(bytes.fromhex(vector["bytes"]))


@pytest.mark.parametrize("vector", SEALED, ids=name_of)
def test_sealed_datagrams_open(vector: dict[str, Any]) -> None:
    lane = lane_of(vector)
    assert lane.key_id == vector["key_id"]
    number, frame = lane.open(bytes.fromhex(vector["datagram"]), vector["end"])
    assert (number, frame.hex()) == (vector["number"], vector["frame"])
    assert decode(frame) == FRAMES["good"][0]["meaning"]


@pytest.mark.parametrize("vector", SEALED, ids=name_of)
def test_no_changed_byte_goes_unnoticed(vector: dict[str, Any]) -> None:
    lane, datagram = lane_of(vector), bytes.fromhex(vector["datagram"])
    for at in range(len(datagram)):
        changed = bytearray(datagram)
        changed[at] ^= 0x20
        with pytest.raises(Refused):
            lane.open(bytes(changed), vector["end"])
    for length in (0, 4, 20, len(datagram) - 1):
        with pytest.raises(Refused):
            lane.open(datagram[:length], vector["end"])


def test_another_lane_end_or_cipher_opens_nothing() -> None:
    vector = SEALED[0]
    other = {"lane": 1, "from": "listener", "cipher": "aes256-gcm", "session": "00" * 32}
    for member, value in other.items():
        with pytest.raises(Refused):
            lane_of(vector | {member: value}).open(bytes.fromhex(vector["datagram"]), vector["end"])


@pytest.mark.parametrize("vector", DIGESTS, ids=lambda vector: f"{vector['cipher']}-{vector['length']}")
def test_digests_are_those_of_the_cipher(vector: dict[str, Any]) -> None:
    content = bytes(at % 251 for at in range(vector["length"]))
    session = bytes.fromhex(vector["session"])
    found = digest(session, vector["cipher"], vector["from"], vector["object"], content)
    assert found.hex() == vector["digest"]


def test_messages_are_json_objects_with_a_type() -> None:
    for text in MESSAGES["good"] + MESSAGES["of_a_later_version"]:
        assert isinstance(json.loads(text)["type"], str)
