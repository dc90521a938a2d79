"""Pictures of hosts for `visapult doctor --root`: a folder tree with what a machine's /proc and /sys say, and a change that somebody made to it."""

import json
from pathlib import Path

NIC = "sys/class/net/eth0"
CLOCK = "sys/devices/system/clocksource/clocksource0"
OFFLOADS = {"tx": True, "gso": True, "gro": True}
RINGS = {"rx": 4096, "rx_max": 8192, "offloads": OFFLOADS}
FIFO = [{"kind": "mq", "root": True, "options": {}}, {"kind": "fq_codel", "options": {"limit": 10240}}]
STATISTICS = {"rx_packets": 90_000_000, "rx_missed_errors": 12, "rx_fifo_errors": 0}

#: A machine of two memory nodes with four cores each and an interface of 10 Gbit/s, in good order.
CLEAN: dict[str, str] = {
    "proc/sys/net/core/rmem_max": "67108864",
    "proc/sys/net/core/wmem_max": "67108864",
    "proc/sys/net/core/netdev_max_backlog": "10000",
    "proc/sys/net/ipv4/udp_mem": "575802\t767736\t1151604",
    "proc/sys/net/ipv4/tcp_congestion_control": "cubic",
    "proc/sys/net/ipv4/tcp_available_congestion_control": "reno cubic bbr",
    "proc/sys/kernel/random/boot_id": "d2a1c6ae-0000-4000-8000-000000000001",
    "proc/net/route": "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
    "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0",
    "proc/self/status": "Name:\tvisapult\nCpus_allowed_list:\t0-7",
    "proc/self/limits": "Limit                     Soft Limit           Hard Limit           Units\n"
    "Max open files            1024                 1048576              files",
    "proc/self/cgroup": "0::/user.slice/session",
    "sys/fs/cgroup/cgroup.controllers": "cpu memory",
    "sys/fs/cgroup/user.slice/session/cpu.max": "max 100000",
    "sys/fs/cgroup/user.slice/session/memory.max": "max",
    f"{CLOCK}/current_clocksource": "tsc",
    f"{CLOCK}/available_clocksource": "tsc hpet acpi_pm",
    f"{NIC}/ifindex": "2",
    f"{NIC}/mtu": "1500",
    f"{NIC}/speed": "10000",
    f"{NIC}/tx_queue_len": "1000",
    f"{NIC}/device/numa_node": "1",
    f"{NIC}/device/local_cpulist": "4-7",
    "ethtool/eth0.json": json.dumps(RINGS),
    "qdisc/eth0.json": json.dumps(FIFO),
    **{f"{NIC}/statistics/{name}": str(count) for name, count in STATISTICS.items()},
    **{f"{NIC}/device/msi_irqs/{40 + queue}": "msix" for queue in range(4)},
    **{f"proc/irq/{40 + queue}/smp_affinity_list": str(4 + queue) for queue in range(4)},
    **{
        f"sys/devices/system/cpu/cpu{core}/cpufreq/{name}": value
        for core in range(8)
        for name, value in {
            "scaling_governor": "performance",
            "scaling_driver": "acpi-cpufreq",
            "scaling_min_freq": "800000",
            "cpuinfo_max_freq": "3200000",
        }.items()
    },
}


def interrupts_at(cores: list[int]) -> dict[str, str]:
    return {f"proc/irq/{40 + queue}/smp_affinity_list": str(core) for queue, core in enumerate(cores)}


def governed_by(name: str, **more: str) -> dict[str, str]:
    told = {"scaling_governor": name, **more}
    return {f"sys/devices/system/cpu/cpu{core}/cpufreq/{key}": value for core in range(8) for key, value in told.items()}


def offload_off(name: str) -> dict[str, str]:
    return {"ethtool/eth0.json": json.dumps({**RINGS, "offloads": OFFLOADS | {name: False}})}


def queue(kind: str, **options: object) -> dict[str, str]:
    return {"qdisc/eth0.json": json.dumps([{"kind": kind, "root": True, "options": options}])}


def draw(folder: Path, *changes: dict[str, str]) -> Path:
    """The picture of the clean host with the changes; a value of nothing leaves a file out."""
    told = dict(CLEAN)
    for change in changes:
        told.update(change)
    for path, text in told.items():
        if text:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text + "\n")
    return folder


def seen(folder: Path) -> dict[str, bytes]:
    """All that a picture says, to compare."""
    return {str(path.relative_to(folder)): path.read_bytes().strip() for path in folder.rglob("*") if path.is_file()}


def meant(told: dict[str, bytes]) -> dict[str, object]:
    """The same without what makes no difference: blanks, and how JSON is written."""
    return {path: json.loads(text) if path.endswith(".json") else text.split() for path, text in told.items()}
