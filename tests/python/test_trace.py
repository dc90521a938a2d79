"""Trace files and what is drawn from them, read by somebody else's parsers."""

import base64
import json
import platform
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from conftest import run
from test_bad_input import assert_one_clear_line

STAGES = {
    "source put": "rank",
    "piece sent": "rank",
    "receive": "pe",
    "render": "pe",
    "send": "session",
    "drawn": "session",
}
SVG = "{http://www.w3.org/2000/svg}"


def event(name: str, member: int, step: int, start_ms: float, end_ms: float) -> dict:
    return {
        "name": name,
        "cat": "visapult",
        "ph": "X",
        "ts": start_ms * 1000,
        "dur": (end_ms - start_ms) * 1000,
        "pid": 1,
        "tid": 1,
        "args": {"step": step, STAGES[name]: member, "bytes": 1 << 20},
    }


def lifelines(steps: int, pes: int) -> list[dict]:
    """Receiving takes 100 ms of each step, rendering 60 of the next 100."""
    events = []
    for step in range(steps):
        at = 100 * step
        for pe in range(pes):
            events.append(event("receive", pe, step, at, at + 100))
            events.append(event("render", pe, step, at + 100, at + 160))
        events.append(event("send", 0, step, at + 160, at + 170))
    return events


def write(path: Path, events: list[dict], host: str = "node1") -> Path:
    meta = {"name": "visapult_process", "ph": "M", "pid": 1, "args": {"format": 1, "host": host, "role": "backend"}}
    path.write_text(json.dumps([meta, *events]))
    return path


def polylines(path: Path) -> list[str]:
    root = ElementTree.parse(path).getroot()
    return [line.get("class", "") for line in root.iter(f"{SVG}polyline")]


def test_a_plot_has_a_lifeline_for_each_step_and_pe(tmp_path: Path) -> None:
    trace = write(tmp_path / "a.json", lifelines(6, 3))
    ended = run("trace", "plot", trace, "-o", tmp_path / "a.svg", "--json", "-")
    assert sorted(polylines(tmp_path / "a.svg")) == ["lifeline even"] * 9 + ["lifeline odd"] * 9
    summary = json.loads(ended.stdout)
    assert (summary["steps"], summary["pes"], summary["input"]) == (6, 3, "receive")
    assert summary["frame_period_s"] == pytest.approx(0.1)
    assert summary["render_s"] == pytest.approx(0.06)
    assert summary["max_s"] == pytest.approx(0.1)
    assert summary["sum_s"] == pytest.approx(0.16)
    assert summary["overlap"] == pytest.approx(5 / 6)
    assert summary["bytes"] == 6 * 3 << 20


def test_steps_can_be_chosen(tmp_path: Path) -> None:
    trace = write(tmp_path / "a.json", lifelines(9, 1))
    run("trace", "plot", trace, "-o", tmp_path / "a.svg", "--steps", "2..4")
    assert len(polylines(tmp_path / "a.svg")) == 3
    assert_one_clear_line(run("trace", "plot", trace, "--steps", "50..60", check=False).stderr, "steps 0 to 8\n")


def test_files_of_several_processes_become_one_that_others_can_read(tmp_path: Path) -> None:
    events = lifelines(3, 2)
    source = write(tmp_path / "s.json", [event("source put", 0, 1, 90, 95)], host="cluster")
    back_end = write(tmp_path / "b.json", events)
    ended = run("trace", "merge", source, back_end, "-o", tmp_path / "all.json")
    assert "cluster, node1" in ended.stderr
    merged = json.loads((tmp_path / "all.json").read_text())
    complete = [entry for entry in merged if entry["ph"] == "X"]
    assert len(complete) == len(events) + 1
    assert len({entry["pid"] for entry in complete}) == 2
    assert {"cluster", "node1"} <= {entry["args"].get("host") for entry in merged if entry["ph"] == "M"}
    # Viewers want the events of one row nested or apart.
    rows: dict[tuple[int, int], list[dict]] = {}
    for entry in complete:
        rows.setdefault((entry["pid"], entry["tid"]), []).append(entry)
    for row in rows.values():
        row.sort(key=lambda entry: entry["ts"])
        assert all(a["ts"] + a["dur"] <= b["ts"] for a, b in zip(row, row[1:]))


def test_a_process_of_which_two_files_tell_counts_once(tmp_path: Path) -> None:
    trace, merged = write(tmp_path / "a.json", lifelines(6, 2)), tmp_path / "merged.json"
    written = json.loads(trace.read_text())
    written[0]["args"]["epoch_ns"] = 1_700_000_000_123_456_789
    clock = {"name": "visapult_clock", "ph": "M", "pid": 1, "args": {"aligned": True, "behind_ns": 70}}
    trace.write_text(json.dumps([*written, clock]))
    run("trace", "merge", trace, "-o", merged)
    for files in ([trace], [trace, merged], [trace, trace]):
        summary = json.loads(run("trace", "plot", *files, "-o", tmp_path / "a.svg", "--json", "-").stdout)
        assert (summary["steps"], summary["pes"], summary["bytes"]) == (6, 2, 6 * 2 << 20)


@pytest.mark.parametrize("tail", [b"", b"\0" * 4096])
def test_a_file_that_was_cut_off_is_used_as_far_as_it_goes(tail: bytes, tmp_path: Path) -> None:
    trace = write(tmp_path / "a.json", lifelines(6, 1))
    # A machine without power leaves zeros.
    trace.write_bytes(trace.read_bytes()[:-40] + tail)
    ended = run("trace", "plot", trace, "-o", tmp_path / "a.svg")
    assert "cut off" in ended.stderr
    assert len(polylines(tmp_path / "a.svg")) == 6


@pytest.mark.parametrize(
    ("content", "needle"),
    [("", "not a trace"), ("[]", "no events"), ('{"traceEvents": []}', "not a trace"), ("[{]", "byte 1")],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, content: str, needle: str) -> None:
    (tmp_path / "a.json").write_text(content)
    ended = run("trace", "plot", tmp_path / "a.json", check=False)
    assert ended.returncode == 1
    assert_one_clear_line(ended.stderr, "a.json", needle)


def test_a_trace_and_what_is_made_of_it_take_the_place_of_no_other_file(tmp_path: Path) -> None:
    trace, other, field = write(tmp_path / "a.json", lifelines(6, 1)), tmp_path / "b.json", tmp_path / "field.npy"
    other.write_text(trace.read_text())
    np.save(field, np.zeros((4, 4, 4), np.float32))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    plot = ["trace", "plot", trace, "-o"]
    for words, needle in [
        ([*plot, trace], "a.json is what is read"),
        ([*plot, other], "b.json is there, and is no SVG picture"),
        ([*plot, tmp_path / "a.svg", "--json", other], "b.json is there, and is no JSON report"),
        (["trace", "merge", trace, other, "-o", trace], "a.json is what is read"),
        (["trace", "merge", trace, "-o", field], "field.npy is there, and is no trace"),
        (["view", field, "--port", 0, "--no-open", "--for", "1s", "--trace", field], "field.npy is what is read"),
        (["serve", other, "--for", "1s", "--trace", field], "field.npy is there, and is no trace"),
    ]:
        ended = run(*words, check=False)
        assert ended.returncode == 1
        assert_one_clear_line(ended.stderr, needle)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    for _ in range(2):
        run(*plot, tmp_path / "a.svg", "--json", tmp_path / "summary.json")
        for more in ([], ["--otlp"]):
            run("trace", "merge", trace, "-o", tmp_path / "all.json", *more)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    ended = run("trace", "plot", tmp_path / "none.json", check=False)
    assert_one_clear_line(ended.stderr, "none.json")


def test_a_view_records_what_its_steps_go_through(volume: np.ndarray, tmp_path: Path) -> None:
    trace = tmp_path / "view.json"
    np.save(tmp_path / "volume.npy", volume)
    run("view", tmp_path / "volume.npy", "--port", 0, "--no-open", "--for", "2s", "--pes", 2, "--trace", trace)
    entries = json.loads(trace.read_text())
    stages = {(entry["name"], entry["args"]["pe"]) for entry in entries if entry["ph"] == "X"}
    assert {("load", 0), ("load", 1), ("render", 0), ("render", 1)} <= stages
    process = next(entry["args"] for entry in entries if entry["name"] == "visapult_process")
    assert (process["host"], process["role"]) == (platform.node(), "view")
    run("trace", "plot", trace, "-o", tmp_path / "view.svg")
    assert polylines(tmp_path / "view.svg")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_ends_the_trace_and_not_the_run() -> None:
    ended = run("view", "demo:wave?n=32", "--port", 0, "--no-open", "--for", "1s", "--trace", "/dev/full")
    assert ended.stderr.count("the trace ends here, the run goes on") == 1


def test_a_trace_that_cannot_be_written_is_refused_at_once() -> None:
    ended = run("view", "demo:wave?n=32", "--port", 0, "--no-open", "--trace", "/no/such/folder/a.json", check=False)
    assert ended.returncode == 1
    assert_one_clear_line(ended.stderr, "/no/such/folder/a.json")


def test_a_step_is_a_trace_of_opentelemetry_by_its_published_schema(tmp_path: Path) -> None:
    from google.protobuf import json_format
    from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

    source = write(tmp_path / "source.json", [event("source put", 1, step, 100 * step, 100 * step + 20) for step in range(3)])
    trace = write(tmp_path / "a.json", lifelines(3, 2))
    run("trace", "merge", source, trace, "--otlp", "-o", tmp_path / "otlp.json")
    told = json.loads((tmp_path / "otlp.json").read_text())
    for resource in told["resourceSpans"]:
        for span in resource["scopeSpans"][0]["spans"]:
            for name, length in [("traceId", 16), ("spanId", 8), ("parentSpanId", 8)]:
                # The only thing in which OTLP's JSON is not that of its schema: identifiers are hexadecimal.
                identifier = bytes.fromhex(span[name])
                assert len(identifier) in ({length} if name != "parentSpanId" else {0, length})
                span[name] = base64.b64encode(identifier).decode()
    # Refuses every field that the schema does not have, and every value of another type.
    data = json_format.ParseDict(told, TracesData())
    assert [resource.resource.attributes[0].value.string_value for resource in data.resource_spans] == ["visapult"] * 2
    spans = [span for resource in data.resource_spans for scope in resource.scope_spans for span in scope.spans]
    assert len({span.span_id for span in spans}) == len(spans) == 3 + 3 + 3 * (2 * 2 + 1)
    roots = {span.span_id: span for span in spans if not span.parent_span_id}
    assert len({root.trace_id for root in roots.values()}) == len(roots) == 3
    for span in spans:
        assert span.kind == Span.SPAN_KIND_INTERNAL
        root = roots[span.parent_span_id or span.span_id]
        assert root.trace_id == span.trace_id
        assert root.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano <= root.end_time_unix_nano


def test_times_of_opentelemetry_are_those_of_the_day(tmp_path: Path) -> None:
    before = time.time_ns()
    trace = tmp_path / "run.json"
    np.save(tmp_path / "volume.npy", np.random.default_rng(1).normal(size=(24, 24, 24)).astype(np.float32))
    run("view", tmp_path / "volume.npy", "--port", 0, "--no-open", "--for", "1s", "--trace", trace)
    run("trace", "merge", trace, "--otlp", "-o", tmp_path / "otlp.json")
    told = json.loads((tmp_path / "otlp.json").read_text())
    times = [int(span["startTimeUnixNano"]) for span in told["resourceSpans"][0]["scopeSpans"][0]["spans"]]
    assert all(before <= at <= time.time_ns() for at in times)
