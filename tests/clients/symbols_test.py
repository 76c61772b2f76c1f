"""The shared library exports what gar.h declares and gar.map lists, and nothing else.
usage: symbols_test.py LIBRARY GAR_H GAR_MAP"""

import re
import shutil
import subprocess
import sys


def main(library, header, version_map):
    if not shutil.which("nm") or not shutil.which("readelf"):
        print("skipped: binutils is not there")
        return 77
    listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                            capture_output=True).stdout
    exported = {line.split()[-1].split("@")[0] for line in listed.splitlines() if " A " not in line}
    with open(header, encoding="utf-8") as file:
        declared = set(re.findall(r"GAR_API[^;(]*?(gar_\w+)\(", file.read()))
    with open(version_map, encoding="utf-8") as file:
        mapped = set(re.findall(r"^\s+(gar_\w+);", file.read(), re.M))
    dynamic = subprocess.run(["readelf", "-d", library], check=True, text=True,
                             capture_output=True).stdout
    faults = []
    for name, names in (("exported", exported), ("in gar.map", mapped)):
        for symbol in sorted(names ^ declared):
            where = f"not {name}" if symbol in declared else f"{name}, but not in gar.h"
            faults.append(f"{symbol}: {where}")
    if "[libgarclient.so.0]" not in dynamic:
        faults.append("the soname is not libgarclient.so.0")
    for vendor in ("libcuda", "libamdhip", "libvulkan", "libboost"):
        if f"[{vendor}" in dynamic:
            faults.append(f"it links {vendor}")
    print("\n".join(faults) or f"{len(declared)} symbols, as declared")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
