"""What the machine is: what a reader of the numbers has to know about it."""

import os
import platform
import re
from pathlib import Path

from binaries import output


def read(path):
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def first(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    return found.group(1).strip() if found else None


def governor():
    return read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip() or None


def describe_host(binaries):
    _, version = output([binaries.path("gard"), "--version"], binaries.environment)
    parameters = read("/proc/driver/nvidia/params")
    return {
        "cpu": first(r"^model name\s*:\s*(.*)$", read("/proc/cpuinfo")) or platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "governor": governor(),
        "kernel": platform.release(),
        "gard": version.splitlines()[-1] if version else None,
        "driver": first(r"Kernel Module\D*([0-9.]+)", read("/proc/driver/nvidia/version")),
        "enable_stream_mem_ops": first(r"^EnableStreamMemOPs:\s*(\d+)", parameters),
        "wsl": Path("/dev/dxg").exists(),
    }
