"""The first file system of a Linux guest: a cpio archive of folders and programs."""

from pathlib import Path


def entry(number, name, mode, content):
    """One member, in the format that Linux calls newc."""
    encoded = name.encode() + b"\0"
    fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0]
    header = b"070701" + b"".join(b"%08x" % field for field in fields) + encoded
    return pad(header) + pad(content)


def pad(data):
    """Members and their contents begin at multiples of four."""
    return data + b"\0" * (-len(data) % 4)


def archive(folders, programs):
    """`programs`: name in the guest -> file here."""
    members = [entry(number, name, 0o040755, b"") for number, name in enumerate(folders, 1)]
    for number, (name, file) in enumerate(programs.items(), len(folders) + 1):
        members.append(entry(number, name, 0o100755, Path(file).read_bytes()))
    return b"".join(members) + entry(0, "TRAILER!!!", 0, b"")
