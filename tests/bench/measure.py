"""Measuring: sides that alternate, ratios round by round, tables, and the machine that this runs on."""
import os
import platform
import statistics
import subprocess


class Table:
    """Rows of cells with a header, printed as markdown."""

    def __init__(self, title, header):
        self.title, self.header, self.rows = title, header, []

    def add(self, *cells):
        self.rows.append([str(cell) for cell in cells])

    def markdown(self):
        widths = [max(len(row[i]) for row in [self.header, *self.rows]) for i in range(len(self.header))]
        lines = [[*self.header], ["-" * width for width in widths], *self.rows]
        body = "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |" for line in lines)
        return f"{self.title}\n\n{body}\n" if self.title else body + "\n"


def alternate(sides, rounds):
    """Calls each side once a round, in turn; the first round starts with the first side, the next with the second.
    `sides`: name -> function that returns seconds. Returns name -> seconds of each round."""
    seconds = {name: [] for name in sides}
    names = list(sides)
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            seconds[name].append(sides[name]())
    return seconds


def ratio(seconds, base):
    """The median of seconds/base, round by round, with the least and the greatest: "0.93 (0.90-0.97)"."""
    ratios = sorted(one / other for one, other in zip(seconds, base))
    return f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})"


def spell_seconds(seconds):
    for unit, factor in (("s", 1), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}" if seconds * factor < 100 else f"{seconds * factor:.0f} {unit}"
    return f"{seconds * 1e6:.3g} us" if seconds * 1e6 < 100 else f"{seconds * 1e6:.0f} us"


def median(seconds, count=1):
    """The median, of one of `count` things done in that time."""
    return spell_seconds(statistics.median(seconds) / count)


def can_drop_caches():
    return os.access("/proc/sys/vm/drop_caches", os.W_OK)


def drop_caches(*trees):
    """Makes the trees cold: all caches of the machine where that is permitted, otherwise the pages of their files."""
    if can_drop_caches():
        with open("/proc/sys/vm/drop_caches", "w") as control:
            control.write("3")
        return
    for tree in trees:
        for folder, _, names in os.walk(tree):
            for name in names:
                descriptor = os.open(os.path.join(folder, name), os.O_RDONLY)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(descriptor)


def warm(tree):
    """Brings every byte of a tree to the page cache."""
    buffer = bytearray(1 << 20)
    for folder, _, names in os.walk(tree):
        for name in names:
            with open(os.path.join(folder, name), "rb", buffering=0) as file:
                while file.readinto(buffer):
                    pass


def file_system(path):
    out = subprocess.run(["stat", "-f", "-c", "%T", path], capture_output=True, text=True).stdout.strip()
    return "ext4" if out == "ext2/ext3" else out


def machine(scratch):
    """One sentence on the machine."""
    model, memory = "", 0
    with open("/proc/cpuinfo") as text:
        model = next((line.split(":")[1].strip() for line in text if line.startswith("model name")), platform.machine())
    with open("/proc/meminfo") as text:
        memory = int(text.readline().split()[1]) / (1 << 20)
    fuse = subprocess.run(["fusermount3", "--version"], capture_output=True, text=True).stdout.split()[-1:]
    return (f"{os.cpu_count()} processors ({model}), {memory:.0f} GiB of memory, Linux {platform.release().split('-')[0]}, "
            f"libfuse {''.join(fuse)}, {file_system(scratch)}")
