"""The keys that gard reads, those of gard.toml(5), and those of the shipped file are the same.
usage: config_keys_test.py GARD"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from page import SOURCE, page, quiet_environment, run_checks

NONSENSE = "no_such_key"


def refusal(gard, text):
    """What gard says of a configuration."""
    with tempfile.TemporaryDirectory(prefix="gar-keys-") as place:
        file = Path(place) / "gard.toml"
        file.write_text(text, encoding="utf-8")
        return subprocess.run([gard, "--check-config", "--config", file], check=False, timeout=60,
                              capture_output=True, text=True, env=quiet_environment()).stderr


def keys_read(gard):
    """section.key, by what gard expects in the place of one that it does not know."""
    sections = re.search(r"one of the sections (.*)", refusal(gard, f"{NONSENSE} = 1\n")).group(1)
    found = set()
    for section in re.findall(r"\[(\w+)\]", sections):
        said = refusal(gard, f"[{section}]\n{NONSENSE} = 1\n")
        listed = re.search(rf"in \[{section}\]; expected one of ([\w, ]+)", said).group(1)
        found |= {f"{section}.{key}" for key in listed.split(", ")}
    return found


def keys_shipped():
    """Those in force and those that are commented out."""
    found, section = set(), None
    for line in (SOURCE / "config/gard.toml").read_text(encoding="utf-8").splitlines():
        heading = re.match(r"(?:# )?\[(\w+)(?:\.(\w+))?", line)
        setting = re.match(r"(?:# )?(\w+) = ", line)
        if heading:
            section = heading.group(1)
            if heading.group(2):
                found.add(f"{section}.{heading.group(2)}")
        elif setting and section:
            found.add(f"{section}.{setting.group(1)}")
    return found


def main(gard):
    def the_page_has_the_keys_that_gard_reads():
        read, written = keys_read(gard), page("gard.toml.5").keys()
        for key in sorted(read - written):
            yield f"gard reads {key}, gard.toml(5) does not have it"
        for key in sorted(written - read):
            yield f"gard.toml(5) has {key}, gard does not read it"

    def the_shipped_file_has_the_keys_that_gard_reads():
        read, shipped = keys_read(gard), keys_shipped()
        for key in sorted(read - shipped):
            yield f"gard reads {key}, config/gard.toml does not have it"
        for key in sorted(shipped - read):
            yield f"config/gard.toml has {key}, gard does not read it"

    def the_page_has_the_values_as_shipped():
        unset = {name: value for name, value in quiet_environment().items()
                 if not name.startswith("GARD_")}
        shipped = subprocess.run([gard, "--check-config", "--config", SOURCE / "config/gard.toml"],
                                 check=True, timeout=60, capture_output=True, text=True,
                                 env=unset).stdout
        section = None
        for line in shipped.splitlines():
            if heading := re.fullmatch(r"\[(\w+)\]", line):
                section = heading.group(1)
            elif setting := re.fullmatch(r"(\w+) = (.*)", line):
                key, value = f"{section}.{setting.group(1)}", setting.group(2).strip('"')
                if value not in page("gard.toml.5").item(key):
                    yield f"{key} is {value} as shipped, gard.toml(5) does not say so"

    return run_checks(the_page_has_the_values_as_shipped, the_page_has_the_keys_that_gard_reads,
                      the_shipped_file_has_the_keys_that_gard_reads)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
