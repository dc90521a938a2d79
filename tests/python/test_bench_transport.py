"""What the transport's benchmark makes of the numbers it collects."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "transport"))

import report  # noqa: E402
from columns import COLUMNS  # noqa: E402
from measure import ours, parse, rates, theirs  # noqa: E402
from processes import at  # noqa: E402


def steady(rate: float, began: float, seconds: float) -> list[tuple[float, int]]:
    """A count that grows by `rate` bytes a second, every 50 ms."""
    return [(began + 0.05 * i, int(rate * 0.05 * i)) for i in range(1, int(seconds / 0.05) + 1)]


def test_a_count_is_read_between_its_samples() -> None:
    series = [(10.0, 100), (11.0, 300)]
    assert at(series, 10.5) == 200
    assert at(series, 12.0) == 300
    assert at([], 1.0) == 0


def test_goodput_counts_from_the_start_of_the_client() -> None:
    # The first byte comes three seconds after the start.
    result = theirs([(time + 3, count) for time, count in steady(1e6, 100, 10)], 100)
    assert abs(result["goodput_bps"] - 1e6 * 8 * 9 / 12) < 1e5
    assert abs(result["second_half_bps"] - 8e6) < 1e5


def test_a_peer_that_stopped_early_has_no_figure() -> None:
    assert theirs(steady(1e6, 100, 8), 100)["goodput_bps"] == 0


def test_ours_counts_what_arrived_in_time_if_all_was_verified() -> None:
    # The first byte 2.04 s after the start, then 1 MB a second for eleven.
    report = {"bytes": 11_000_000, "verified": True, "first_byte_unix_s": 102.04, "bytes_per_100_ms": [100_000] * 110}
    # It was sent 2.5 s before: so much later the same seconds end.
    assert abs(ours({**report, "rtt_us": {"min": 5e6}}, 100, 14)["since_sent_bps"] - 9.5e6 * 8 / 12) < 1
    measured = ours(report, 100, 14)
    assert abs(measured["goodput_bps"] - 9.96e6 * 8 / 12) < 1
    assert measured["until_verified_bps"] == 11e6 * 8 / 14
    assert abs(sum(measured["series"]) * 0.1 / 8 - 9.96e6) < 10
    assert measured["series"][:21] == [0] * 20 + [480_000 * 10]
    assert ours({**report, "verified": False}, 100, 14)["goodput_bps"] == 0
    assert ours({}, 100, 14)["goodput_bps"] == 0


def test_ours_without_a_series_is_divided_by_all_its_time() -> None:
    assert ours({"bytes": 3_000_000, "verified": True}, 100, 24)["goodput_bps"] == 1e6


def test_rates_add_up_to_the_count() -> None:
    series = steady(1e6, 100, 12)
    assert abs(sum(rates(series, 100)) * 0.1 / 8 - 12e6) < 2e5


def test_lines_that_are_no_counts_are_left_out() -> None:
    assert parse(["1.5 100\n", "hello\n", "", "2.0 x\n", "2.5 300\n"]) == [(1.5, 100), (2.5, 300)]


def test_a_run_that_the_testbed_spoilt_stands_in_parentheses() -> None:
    run = {"goodput_bps": 9e8, "honest": True, "cpu_s": {"sender": 1.0, "receiver": 2.0}}
    spoilt = {**run, "goodput_bps": 1e8, "honest": False}
    assert report.cell([run, spoilt], report.goodput) == "900"
    assert report.cell([spoilt], report.goodput) == "(100)"
    assert report.cell([{"goodput_bps": 0.0, "honest": False, "failed": "no"}], report.goodput) == "failed"


def test_columns_have_names_of_their_own() -> None:
    names = [column.name for column in COLUMNS]
    assert len(set(names)) == len(names)
