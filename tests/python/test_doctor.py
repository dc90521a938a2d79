"""`visapult doctor` on hosts and paths that something is wrong with: pictures of machines, and namespaces and links made here.

What is wrong is seeded, one thing at a time. The table of what was found is printed at the end (`-rP` shows it).
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import doctor_pictures as pictures
from conftest import VISAPULT
from doctor_pictures import CLOCK, NIC, RINGS, draw
from shares import sharing
from test_bad_input import assert_one_clear_line
from wan import ENVIRONMENT, RIGHT, Link, link, unable

SOON = 60
#: What each seed came to: the ids that were found.
TABLE: dict[str, tuple[str, list[str]]] = {}


@dataclass(frozen=True)
class Told:
    """What the doctor said, and how it ended."""

    code: int
    report: dict[str, Any]

    @property
    def ids(self) -> list[str]:
        return [finding["id"] for finding in self.report["findings"]]


def doctor(*options: object, within: tuple[object, ...] = ()) -> Told:
    command = [*map(str, within), str(VISAPULT), "doctor", "--json", *map(str, options)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SOON, check=False, env=ENVIRONMENT)
    # That data moves over streams is said when it comes to that.
    assert "UDP is blocked?" in ended.stderr or ended.stderr == "", ended.stderr
    return Told(ended.returncode, json.loads(ended.stdout))


#: What somebody did to the clean host, the rate that is asked for, and the finding that names it.
SEEDS: dict[str, tuple[dict[str, str], str, str]] = {
    "receive buffers as Linux has them": ({"proc/sys/net/core/rmem_max": "212992"}, "1Gbit", "receive-buffer"),
    "small send buffers": ({"proc/sys/net/core/wmem_max": "212992"}, "10Gbit", "send-buffer"),
    "little memory for UDP": ({"proc/sys/net/ipv4/udp_mem": "768 1024 1536"}, "10Gbit", "udp-memory"),
    "a short backlog": ({"proc/sys/net/core/netdev_max_backlog": "100"}, "10Gbit", "backlog"),
    "packets of 576 bytes": ({f"{NIC}/mtu": "576"}, "10Gbit", "interface-mtu"),
    "checksums by the processor": (pictures.offload_off("tx"), "10Gbit", "segmentation"),
    "no segmentation offload": (pictures.offload_off("gso"), "10Gbit", "segmentation"),
    "no receive offload": (pictures.offload_off("gro"), "10Gbit", "coalescing"),
    "a small ring": ({"ethtool/eth0.json": json.dumps({**RINGS, "rx": 128})}, "10Gbit", "ring-size"),
    "packets lost by the interface": ({f"{NIC}/statistics/rx_missed_errors": "700000"}, "10Gbit", "interface-loss"),
    "governor powersave": (pictures.governed_by("powersave"), "10Gbit", "processor-governor"),
    "clock source acpi_pm": ({f"{CLOCK}/current_clocksource": "acpi_pm"}, "1Gbit", "clock-source"),
    "clock source hpet": ({f"{CLOCK}/current_clocksource": "hpet"}, "10Gbit", "clock-source"),
    "interrupts on one core": (pictures.interrupts_at([4, 4, 4, 4]), "10Gbit", "interrupts-on-one-core"),
    "interrupts on the far node": (pictures.interrupts_at([0, 1, 2, 3]), "10Gbit", "interrupts-far-away"),
    "half a core": ({"sys/fs/cgroup/user.slice/cpu.max": "50000 100000"}, "10Gbit", "processor-quota"),
    "64 MB of memory": ({"sys/fs/cgroup/user.slice/session/memory.max": "67108864"}, "10Gbit", "memory-limit"),
    "64 open files": ({"proc/self/limits": "Max open files            64                   64                   files"}, "1Gbit", "open-files"),
    "a forgotten tbf": (pictures.queue("tbf", rate=12_500_000), "1Gbit", "queue-shaped"),
    "a forgotten netem": (
        pictures.queue("netem", **{"limit": 1000, "delay": {"delay": 0.04}, "loss-random": {"loss": 0.01}}), "1Gbit", "queue-emulated",
    ),
    "a short queue": (pictures.queue("pfifo", limit=10), "1Gbit", "queue-short"),
    "reno": ({"proc/sys/net/ipv4/tcp_congestion_control": "reno"}, "1Gbit", "congestion-control"),
}  # fmt: skip


def note(seed: str, wanted: str, told: Told) -> None:
    """For the table."""
    TABLE[seed] = (wanted, told.ids)


@pytest.mark.parametrize(("rate", "kind", "enough"), [("100Gbit", "pfifo_fast", 2000), ("100Gbit", "pfifo", 2000), ("1000Gbit", "fq", 17000)])
def test_a_queue_is_to_hold_more_than_it_does(tmp_path: Path, rate: str, kind: str, enough: int) -> None:
    told = doctor("--root", draw(tmp_path, pictures.queue(kind, limit=1000)), "--rate", rate)
    finding = next(finding for finding in told.report["findings"] if finding["id"] == "queue-short")
    assert finding["better"] == f"{enough} packets or more"
    by_hand = f"ip link set eth0 txqueuelen {enough}" if kind == "pfifo_fast" else f"tc qdisc replace dev eth0 root fq limit {max(enough, 10_000)}"
    assert finding["by_hand"] == [by_hand]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_wrong_with_a_host_is_found_and_nothing_else(tmp_path: Path, seed: str) -> None:
    change, rate, wanted = SEEDS[seed]
    told = doctor("--root", draw(tmp_path, change), "--rate", rate)
    note(seed, wanted, told)
    assert (told.code, told.ids) == (1, [wanted])
    finding = told.report["findings"][0]
    assert finding["seen"]
    assert finding["cost"]
    assert finding["better"]
    assert finding["commands"] or finding["by_hand"]


@pytest.mark.parametrize("rate", [(), ("--rate", "1Gbit"), ("--rate", "10Gbit")])
def test_nothing_is_found_on_a_clean_host(tmp_path: Path, rate: tuple[str, ...]) -> None:
    told = doctor("--root", draw(tmp_path), *rate)
    assert (told.code, told.ids, told.report["unseen"]) == (0, [], [])
    assert told.report["asked_bps"] in (1_000_000_000, 10_000_000_000)


@pytest.mark.parametrize(
    "harmless",
    [
        {"proc/sys/net/core/rmem_max": "4194304", "proc/sys/net/core/wmem_max": "212992"},
        {"proc/sys/net/core/netdev_max_backlog": "1000"},
        {"ethtool/eth0.json": json.dumps({**RINGS, "rx": 256, "offloads": {"tx": True, "gso": True, "gro": False}})},
        pictures.governed_by("powersave", scaling_driver="intel_pstate"),
        pictures.interrupts_at([0, 0, 0, 0]),
        pictures.queue("fq", limit=10000),
        {f"{NIC}/mtu": "1420"},
        {f"{NIC}/mtu": "9000"},
    ],
)  # fmt: skip
def test_what_does_not_matter_at_the_rate_is_no_finding(tmp_path: Path, harmless: dict[str, str]) -> None:
    assert doctor("--root", draw(tmp_path, harmless), "--rate", "1Gbit").ids == []


def test_what_cannot_be_seen_is_told_and_not_taken_for_fine(tmp_path: Path) -> None:
    hidden = [path for path in pictures.CLEAN if path.startswith(("sys/", "ethtool/", "qdisc/"))]
    told = doctor("--root", draw(tmp_path, dict.fromkeys(hidden, "")))
    assert (told.code, told.ids) == (0, [])
    whats = " ".join(unseen["what"] for unseen in told.report["unseen"])
    assert all(word in whats for word in ["network interface", "governor", "clock", "quota", "memory limit"])
    assert "could not be seen" in told.report["verdict"]


def test_a_busy_person_reads_the_verdict_first(tmp_path: Path) -> None:
    change, *_ = SEEDS["receive buffers as Linux has them"]
    command = [str(VISAPULT), "doctor", "--root", str(draw(tmp_path, change)), "--rate", "1Gbit"]
    text = subprocess.run(command, capture_output=True, text=True, timeout=SOON, check=False).stdout
    assert text.startswith("About 1 Gbit/s could be had here; UDP's receive buffer holds it back to 341 Mbit/s.\n")
    assert "mend    sysctl -w net.core.rmem_max=" in text
    fix = subprocess.run([*command, "--fix"], capture_output=True, text=True, timeout=SOON, check=False)
    assert fix.stdout == "sysctl -w net.core.rmem_max=2097152\n"


def test_a_disk_that_is_slower_than_the_line_is_found(tmp_path: Path) -> None:
    host = draw(tmp_path)
    told = doctor("--root", host, "--rate", "500Tbit", "--disk", tmp_path)
    disks = [finding for finding in told.report["findings"] if finding["id"] == "disk"]
    assert [finding["what"] for finding in disks] == ["the disk (write)", "the disk (read)"]
    assert doctor("--root", host, "--rate", "1kbit", "--disk", tmp_path).ids == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ethtool", "proc", "qdisc", "sys"]
    missing = subprocess.run(
        [VISAPULT, "doctor", "--disk", tmp_path / "none"], capture_output=True, text=True, timeout=SOON, check=False
    )
    assert missing.returncode == 2
    assert missing.stderr.startswith("visapult: cannot measure the disk of ")


def test_every_finding_has_a_section_in_the_book() -> None:
    page = (Path(__file__).parents[2] / "docs/src/doctor.md").read_text()
    source = Path(__file__).parents[2] / "crates/doctor/src"
    named = {
        name for path in source.rglob("*.rs") for name in re.findall(r'Finding::new\(\s*"([^"]+)"', path.read_text())
    } - {"id"}
    assert named
    assert [name for name in sorted(named) if f"\n### {name}\n" not in page] == []


WHY_NOT = unable()
needs_links = pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")
PATH = "--rate 40M --rtt 20ms"
AT_ONCE = 3

#: Links with something wrong, and the finding that names it; none for a good one.
PATHS: dict[str, tuple[str, str | None]] = {
    "UDP is blocked": (f"{PATH} --block udp", "udp-blocked"),
    "a hole for packets above 1280 bytes": (f"{PATH} --mtu-hole 1280", "mtu-hole"),
    "a policer": (f"{PATH} --policer 15M/150kB", "policed"),
    "loss to there": (f"{PATH} --to-right loss=2%", "loss-out"),
    "loss from there": (f"{PATH} --to-left loss=2%", "loss-back"),
    "a good path": (PATH, None),
}
#: All that can be found along a path.
PATH_IDS = {
    "no-session", "udp-blocked", "mtu-hole", "path-mtu", "loss-out", "loss-back", "policed", "path-rate",
    "coalescing-hurts", "end-busy", "stream-buffers",
}  # fmt: skip


def on_the_left(up: Link) -> tuple[str, ...]:
    """With /sys as the namespace has it."""
    return ("ip", "netns", "exec", f"{up.name}-left")


def look_along(options: str, folder: Path, *more: object, settings: str = "") -> Told:
    """What the doctor says of a link with a share at its other end, with settings of its own."""
    folder.mkdir()
    with link(*options.split()) as up:
        if settings:
            subprocess.run([*on_the_left(up), "sysctl", "-q", "-w", settings], check=True, timeout=SOON)
        share = up.start("right", VISAPULT, "share", folder, "--bind", f"{RIGHT}:7440")
        return doctor(share.read_line(), *more, within=on_the_left(up))


def test_a_share_tells_of_checks_of_the_path(tmp_path: Path) -> None:
    with sharing(tmp_path / "shared") as share:
        doctor(share.url)
        told = share.copies()[0]
    assert (told["what"], told["from"], told["files"], told["result"]) == ("check", "127.0.0.1", 0, "done")
    assert told["bytes"] > 0


def test_a_path_that_could_not_be_looked_along_is_the_verdict_and_no_good_end(tmp_path: Path) -> None:
    policy = tmp_path / "people.toml"
    policy.write_text('ask = "Ada, room 5"\n[[person]]\nname = "ada"\nread = ["."]\n')
    # A share with a policy refuses checks, of a host that nothing is wrong with otherwise.
    with sharing(tmp_path / "shared", "--policy", policy) as share:
        told = doctor(share.url, "--root", draw(tmp_path / "host"))
    assert (told.code, told.ids) == (2, [])
    assert told.report["verdict"].startswith("Of the path to 127.0.0.1:")
    assert "does not measure with us" in told.report["no_path"]["why"]


@pytest.fixture(scope="module")
def looked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Told]]]:
    """The paths that were asked for, being looked at: several at a time, for most of it is waiting."""
    asked = [item.callspec.params["seed"] for item in request.session.items if isinstance(item, pytest.Function) and item.name.startswith("test_a_path[")]
    folder = tmp_path_factory.mktemp("paths")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {seed: pool.submit(look_along, PATHS[seed][0], folder / str(at)) for at, seed in enumerate(map(str, asked))}
        pool.shutdown(cancel_futures=True)


@needs_links
@pytest.mark.parametrize("seed", PATHS)
def test_a_path(looked: dict[str, Future[Told]], seed: str, tmp_path: Path) -> None:
    told, wanted = looked[seed].result(), PATHS[seed][1]
    expected = {wanted} if wanted else set()
    # Whether an end keeps up with what is wrong is a matter of what else the machine does that runs the tests.
    ids = PATH_IDS - {"end-busy"} if wanted else PATH_IDS
    if ids & set(told.ids) != expected:
        # The emulator of a machine with other work to do sometimes loses more than it is to: a second look, alone.
        told = look_along(PATHS[seed][0], tmp_path / "again")
    if wanted:
        note(seed, wanted, told)
    found = ids & set(told.ids)
    if wanted == "policed":
        # Its bucket also loses some of what comes late and at once.
        found -= {"loss-out", "loss-back"}
    assert found == expected, told.report
    assert told.report["verdict"].startswith("The path carries about ")
    assert len(told.report["path"]) == 3


@needs_links
def test_small_buffers_of_tcp_are_found_where_data_moves_over_streams(tmp_path: Path) -> None:
    small = "net.ipv4.tcp_wmem=4096 16384 32768"
    told = look_along(f"{PATH} --block udp", tmp_path / "blocked", "--rate", "40M", settings=small)
    note("small buffers of TCP", "stream-buffers", told)
    found = [finding for finding in told.report["findings"] if finding["id"] == "stream-buffers"]
    assert [finding["seen"] for finding in found] == ["net.ipv4.tcp_wmem ends at 32 KiB"], told.report
    assert "net.ipv4.tcp_wmem" in found[0]["commands"][0]
    assert "stream-buffers" not in look_along(PATH, tmp_path / "open", "--rate", "40M", settings=small).ids


@needs_links
def test_what_is_wrong_in_a_namespace_is_found_where_it_is() -> None:
    device = "dev wan0"
    seeds = {
        "a tbf in a namespace": (f"tc qdisc replace {device} root tbf rate 20mbit burst 32k latency 50ms", "queue-shaped"),
        "a short queue in a namespace": (f"tc qdisc replace {device} root pfifo limit 5", "queue-short"),
        "packets of 1280 bytes in a namespace": (f"ip link set {device} mtu 1280", "interface-mtu"),
        "reno in a namespace": ("sysctl -q -w net.ipv4.tcp_congestion_control=reno", "congestion-control"),
    }
    with link(*PATH.split()) as up:
        inside = on_the_left(up)
        look = lambda: doctor("--rate", "1Gbit", "--interface", "wan0", within=inside)
        before = look().ids
        assert not {wanted for _, wanted in seeds.values()} & set(before)
        for seed, (command, wanted) in seeds.items():
            subprocess.run([*inside, *command.split()], check=True, timeout=SOON)
            told = look()
            note(seed, wanted, told)
            assert told.ids.count(wanted) == 1, told.report
            if command.startswith("tc"):
                subprocess.run([*inside, *f"tc qdisc del {device} root".split()], check=True, timeout=SOON)


MISTUNED = [SEEDS[seed][0] for seed in (
    "receive buffers as Linux has them", "little memory for UDP", "a small ring", "governor powersave", "clock source acpi_pm", "reno",
)]  # fmt: skip


@pytest.fixture
def mistuned(tmp_path: Path) -> Path:
    """A picture of a host with much to mend."""
    return draw(tmp_path / "host", *MISTUNED)


def mend(host: Path, *options: object) -> subprocess.CompletedProcess[str]:
    environment = {**ENVIRONMENT, "XDG_STATE_HOME": str(host.parent / "state")}
    command = [str(VISAPULT), "doctor", "--root", str(host), *map(str, options)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=SOON, check=False, env=environment, stdin=subprocess.DEVNULL
    )


def test_what_is_found_is_mended_and_put_back_exactly(mistuned: Path) -> None:
    before = pictures.seen(mistuned)
    applied = mend(mistuned, "--apply", "--yes")
    assert applied.returncode == 0, applied
    assert applied.stdout.count("done: ") == 5 + 8
    found, now = applied.stdout.split("Before, and now:\n")
    ids = re.findall(r"^  more    docs/src/doctor.md#(.*)$", found, re.MULTILINE)
    assert re.findall(r"^  ([\w-]+): mended$", now, re.MULTILINE) == ids
    assert len(re.findall(r"^    before  ", now, re.MULTILINE)) == len(ids)
    assert now.splitlines()[-1].startswith("Nothing was found that holds")
    after = pictures.seen(mistuned)
    assert after != before
    assert doctor("--root", mistuned).ids == []
    assert mend(mistuned, "--apply", "--yes").returncode == 0
    undone = mend(mistuned, "--undo")
    assert (undone.returncode, undone.stderr) == (0, "")
    assert pictures.meant(pictures.seen(mistuned)) == pictures.meant(before)
    again = mend(mistuned, "--undo")
    assert (again.returncode, again.stdout) == (0, "Nothing was changed since this machine was started.\n")
    assert pictures.meant(pictures.seen(mistuned)) == pictures.meant(before)


def test_a_doctor_that_is_killed_at_any_moment_leaves_what_can_be_put_back(mistuned: Path) -> None:
    before = pictures.meant(pictures.seen(mistuned))
    environment = {**ENVIRONMENT, "XDG_STATE_HOME": str(mistuned.parent / "state")}
    for part in range(10):
        command = [str(VISAPULT), "doctor", "--root", str(mistuned), "--apply", "--yes"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        assert process.stdout is not None
        # It says what is done as it does it: killed after so many.
        for _ in range(part):
            while (line := process.stdout.readline()) and not line.startswith("done: "):
                pass
        process.kill()
        process.communicate()
        undone = mend(mistuned, "--undo")
        assert (undone.returncode, undone.stderr) == (0, "")
        assert pictures.meant(pictures.seen(mistuned)) == before


def test_what_is_found_is_mended_though_nobody_reads_what_is_said(mistuned: Path) -> None:
    environment = {**ENVIRONMENT, "XDG_STATE_HOME": str(mistuned.parent / "state")}
    end, closed = os.pipe()
    os.close(end)
    command = [str(VISAPULT), "doctor", "--root", str(mistuned), "--apply", "--yes"]
    applied = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True, timeout=SOON, check=False, env=environment)
    os.close(closed)
    assert (applied.returncode, applied.stderr) == (0, "")
    assert doctor("--root", mistuned).ids == []


def test_nothing_is_changed_without_being_asked_for(mistuned: Path) -> None:
    before = pictures.seen(mistuned)
    asked = mend(mistuned, "--apply")
    assert (asked.returncode, asked.stderr.count("\n")) == (2, 1)
    assert "add --yes" in asked.stderr
    assert mend(mistuned, "--fix").returncode == 1
    assert pictures.seen(mistuned) == before


@needs_links
def test_a_namespace_is_mended_and_put_back() -> None:
    with link(*PATH.split()) as up:
        inside = on_the_left(up)
        control = Path("/proc/sys/net/ipv4/tcp_congestion_control")
        read = lambda: subprocess.run([*inside, "cat", control], capture_output=True, text=True, check=True).stdout
        subprocess.run([*inside, *"sysctl -q -w net.ipv4.tcp_congestion_control=reno".split()], check=True, timeout=SOON)
        state = Path(ENVIRONMENT["XDG_CONFIG_HOME"]) / f"state-{up.name}"
        command = [*inside, "env", f"XDG_STATE_HOME={state}", str(VISAPULT), "doctor"]
        rate = ["--rate", "1Mbit", "--interface", "wan0"]
        subprocess.run([*command, *rate, "--apply", "--yes"], capture_output=True, check=False, timeout=SOON)
        assert read() in ("bbr\n", "cubic\n")
        subprocess.run([*command, "--undo"], capture_output=True, check=True, timeout=SOON)
        assert read() == "reno\n"


def test_nobody_at_the_other_end_is_a_finding() -> None:
    told = doctor("ripp://127.0.0.1:1/x")
    assert (told.code, told.ids[0]) == (1, "no-session")
    assert "Connection refused" in told.report["findings"][0]["seen"]


def test_the_host_that_runs_the_tests_is_looked_at() -> None:
    told = doctor("--rate", "1Mbit")
    assert told.code == bool(told.ids)
    assert told.report["fine"] > 3


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    """Prints what each seed came to; each test has asserted its own."""
    yield
    if not TABLE:
        return
    width = max(map(len, TABLE))
    print("\n" + "\n".join(f"{seed:{width}}  {wanted:24} {' '.join(ids) or '-'}" for seed, (wanted, ids) in TABLE.items()))
    found = sum(wanted in ids for wanted, ids in TABLE.values())
    print(f"found: {found} of {len(TABLE)}")


def test_an_interface_that_is_not_there_is_said_to_be_so_with_those_that_are() -> None:
    command = [str(VISAPULT), "doctor", "--interface", "no-such0"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SOON, check=False, env=ENVIRONMENT)
    assert ended.returncode == 2
    assert_one_clear_line(ended.stderr, "no-such0", "--interface", "lo")
