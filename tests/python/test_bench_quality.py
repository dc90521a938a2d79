"""What the benchmark of proxies makes of the names and numbers it collects."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "quality"))

import choice  # noqa: E402
from forms import Form  # noqa: E402


@pytest.mark.parametrize(
    ("told", "measured", "form"),
    [
        ("bricks of level 2", "bricks, level 2", Form("bricks", 2)),
        ("bricks of level 0 with 5 bits", "bricks, level 0, 5 bits", Form("bricks", 0, 5)),
        ("128 slabs of colour", "128 slabs", Form("slabs", 128)),
        ("87 scalar slabs", "87 scalar slabs", Form("scalar slabs", 87)),
        ("at most 64 segments a ray", "64 segments", Form("segments", 64)),
    ],
)
def test_a_form_is_one_whoever_names_it(told: str, measured: str, form: Form) -> None:
    assert Form.named(told) == Form.named(measured) == form


def test_a_name_that_is_not_known_is_taken_for_no_other() -> None:
    with pytest.raises(ValueError, match="3 points"):
        Form.named("3 points")


def test_a_choice_of_few_bits_is_held_against_the_measured_one_of_as_many() -> None:
    fixed = {
        Form("bricks", 0): choice.Fixed("bricks, level 0", 9_000_000, 50.0),
        Form("bricks", 0, 5): choice.Fixed("bricks, level 0, 5 bits", 3_000_000, 44.8),
        Form("bricks", 1): choice.Fixed("bricks, level 1", 1_500_000, 41.0),
    }
    row = choice.beside({"budget_mb": 10.0, "form": "bricks of level 0 with 5 bits", "bytes": 3_300_000}, fixed)
    # Half a decibel less than enough counts as enough.
    assert (row["db"], row["best"], row["ratio"]) == (44.8, "bricks, level 0", 1.1)
    assert row["lost_db"] == pytest.approx(0.2)


def test_the_page_says_what_was_measured() -> None:
    told, measured = (json.loads((ROOT / f"bench/results/{name}.json").read_text()) for name in ("choice", "quality"))
    assert choice.page(told, measured["rows"]) == choice.PAGE.read_text()
