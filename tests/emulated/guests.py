"""Small Linux guests with two CPUs that run one program and end: x86-64 in Bochs, aarch64 in QEMU.

Both count a guest's time in its instructions, so the host's load shows in how long a run takes and
in nothing that the guest can see.
"""

import subprocess

import cpio

BOCHS_KHZ = 50_000
# QEMU's virtual counter with `-cpu max`, and with the cores that came before it.
MAX_COUNTER_KHZ = 1_000_000
OLD_COUNTER_KHZ = 62_500

# What the kernel would otherwise spend a guest's seconds on. The TSC is what the guest's time is
# made of, so it is taken as it is.
X86_KERNEL = ("console=ttyS0,115200 GAR_GUEST_CONSOLE=/dev/ttyS0 quiet loglevel=3 panic=-1 nokaslr "
              "mitigations=off random.trust_cpu=on tsc=reliable "
              f"tsc_early_khz={BOCHS_KHZ} no_timer_check nowatchdog audit=0 apparmor=0 lsm= "
              "noreplace-smp pci=off cryptomgr.notests idle=nomwait")
ARM_KERNEL = ("console=ttyAMA0 GAR_GUEST_CONSOLE=/dev/ttyAMA0 quiet loglevel=3 panic=-1 nokaslr "
              "random.trust_cpu=on nowatchdog audit=0 apparmor=0 lsm= cryptomgr.notests")


class Ended:
    """What a guest's console showed, and whether the program ended with 0."""

    def __init__(self, console, emulator_said):
        text = console.read_bytes().decode(errors="replace") if console.is_file() else ""
        lines = text.replace("\r", "").splitlines()
        first = next((n for n, line in enumerate(lines) if line.startswith("guest: ")), None)
        self.started = first is not None
        self.lines = lines[first or 0:]
        self.ended = any(line.startswith("guest: exit ") for line in lines)
        self.passed = "guest: exit 0" in self.lines
        self.emulator_said = emulator_said


def first_file_system(programs):
    """`programs` is the folder of guest_init and the test."""
    return cpio.archive(["dev", "proc", "sys", "tmp"], {
        "init": programs / "guest_init", "test": programs / "word_wait_in_guest"})


def bochs(packages, folder, programs, cpu, parameters, seconds):
    """`cpu` is Bochs's own description of one, `parameters` what follows the kernel's own."""
    disc = folder / "disc"
    (disc / "isolinux").mkdir(parents=True)
    (disc / "initrd").write_bytes(first_file_system(programs))
    (disc / "vmlinuz").write_bytes(packages.kernel("amd64").read_bytes())
    for loader in ("ISOLINUX/isolinux.bin", "syslinux/modules/bios/ldlinux.c32"):
        file = packages.root / "usr/lib" / loader
        (disc / "isolinux" / file.name).write_bytes(file.read_bytes())
    (disc / "isolinux/isolinux.cfg").write_text(
        f"DEFAULT guest\nPROMPT 0\nLABEL guest\nLINUX /vmlinuz\nINITRD /initrd\n"
        f"APPEND {X86_KERNEL} {parameters}\n")
    subprocess.run(packages.command("genisoimage") + [
        "-quiet", "-o", str(folder / "disc.iso"), "-b", "isolinux/isolinux.bin", "-c",
        "isolinux/boot.cat", "-no-emul-boot", "-boot-load-size", "4", "-boot-info-table",
        "-R", str(disc)], check=True, capture_output=True, timeout=60)
    share = packages.root / "usr/share"
    (folder / "bochsrc").write_text("\n".join([
        f"cpu: {cpu}, count=2, ips={BOCHS_KHZ}000, quantum=16, reset_on_triple_fault=0",
        "clock: sync=none, time0=1700000000",
        "memory: guest=256, host=256",
        f"romimage: file={share}/bochs/BIOS-bochs-latest",
        f"vgaromimage: file={share}/vgabios/vgabios.bin",
        "boot: cdrom",
        "ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14",
        f"ata0-master: type=cdrom, path={folder}/disc.iso, status=inserted",
        f"com1: enabled=1, mode=file, dev={folder}/console",
        "sound: waveoutdrv=dummy, waveindrv=dummy, midioutdrv=dummy",
        "display_library: term",
        f"log: {folder}/bochs.log",
        "panic: action=fatal", "error: action=ignore", "info: action=ignore",
        "debug: action=ignore", ""]))
    # Debian's Bochs comes up in its debugger: "c" lets it run.
    (folder / "debugger").write_text("c\n")
    run_for(packages.command("bochs-bin") + ["-q", "-f", str(folder / "bochsrc"), "-rc",
                                             str(folder / "debugger")],
            folder, seconds, {"TERM": "xterm", "BXSHARE": str(share / "bochs"),
                              "LTDL_LIBRARY_PATH": str(packages.libraries / "bochs/plugins")})
    return Ended(folder / "console", tail(folder / "bochs.log"))


def qemu(packages, folder, programs, cpu, parameters, seconds):
    """An aarch64 guest. icount: time by instructions, the two CPUs in turn on one host thread."""
    (folder / "initrd").write_bytes(first_file_system(programs))
    run_for(packages.command("qemu-system-aarch64") + [
        "-M", "virt", "-cpu", cpu, "-smp", "2", "-m", "256", "-accel", "tcg,thread=single",
        "-icount", "shift=4,sleep=off", "-nodefaults", "-nic", "none", "-display", "none",
        "-no-reboot",
        "-L", str(packages.root / "usr/share/qemu"), "-serial", f"file:{folder}/console",
        "-kernel", str(packages.kernel("arm64")), "-initrd", str(folder / "initrd"),
        "-append", f"{ARM_KERNEL} {parameters}"], folder, seconds, {})
    return Ended(folder / "console", tail(folder / "emulator"))


def run_for(command, folder, seconds, environment):
    """Bochs takes no notice of SIGTERM and always exits with 1: what counts is on the console."""
    with open(folder / "emulator", "wb") as output:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                              env={"PATH": "/usr/bin:/bin", **environment},
                              cwd=folder) as emulator:
            try:
                emulator.wait(seconds)
            except subprocess.TimeoutExpired:
                emulator.kill()


def tail(file):
    """The last of what an emulator said of itself."""
    if not file.is_file():
        return ""
    return "\n".join(file.read_bytes().decode(errors="replace").splitlines()[-15:])
