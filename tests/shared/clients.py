"""File systems with two clients, made on this machine: mounts whose processes are the script's own."""
import contextlib
import functools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

ADDRESS = "192.0.2.1"  # of documentation (RFC 5737), for servers that want another than 127.0.0.1
IN_NETWORK = "ZARRFS_HAS_A_NETWORK_OF_ITS_OWN"


def until(condition, longest):
    """Seconds until it holds; None: it does not."""
    begin = time.monotonic()
    while time.monotonic() - begin < longest:
        if condition():
            return time.monotonic() - begin
        time.sleep(0.02)  # a look at what another process did
    return None


def enter_network(kinds):
    """Begins this script again where there is no network but its own, if any of the file systems has servers."""
    if not {"gluster", "gluster2", "moosefs", "juicefs"} & set(kinds):
        return
    if IN_NETWORK not in os.environ:
        os.environ[IN_NETWORK] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    for command in ("link set lo up", f"address add {ADDRESS}/32 dev lo"):
        subprocess.run(["ip", *command.split()], check=True)


class Clients:
    """Mounts of one directory."""

    def __init__(self, place, command, count):
        self.place, self.command = place, command
        self.mounts = [place / f"client{number + 1}" for number in range(count)]
        self.processes, self.connections = [None] * count, [None] * count
        self.control = place / "connections"
        self.control.mkdir()
        subprocess.run(["mount", "-t", "fusectl", "none", self.control], check=True)
        for number, mount in enumerate(self.mounts):
            mount.mkdir(exist_ok=True)
            self.start(number)

    def start(self, number):
        mount = self.mounts[number]
        with open(self.place / "clients.log", "ab") as log:
            self.processes[number] = subprocess.Popen(self.command(mount), stdout=log, stderr=log, start_new_session=True)
        if until(lambda: os.path.ismount(mount), 60) is None:
            sys.exit(f"{mount} is not mounted: {(self.place / 'clients.log').read_text()[-2000:]}")

        self.connections[number] = os.minor(os.stat(mount).st_dev)

    def end(self, number, how=signal.SIGTERM):
        """As when its machine ends: a thread of it may wait for a page that a reader of it holds."""
        self.processes[number].send_signal(how)
        subprocess.run(["umount", "-l", self.mounts[number]], stderr=subprocess.DEVNULL)
        if until(lambda: self.processes[number].poll() is not None, 10) is None:
            with contextlib.suppress(FileNotFoundError):
                (self.control / str(self.connections[number]) / "abort").write_text("1")
            self.processes[number].kill()
            self.processes[number].wait()

    def kill(self, number):
        """kill -9 of a client; what mounts it again is returned."""
        self.end(number, signal.SIGKILL)
        return lambda: self.start(number)

    def close(self):
        for number in range(len(self.mounts)):
            self.end(number)
        subprocess.run(["umount", "-l", self.control], check=True)


class OneMount:
    """A file system of one machine: all clients are the same directory."""

    def __init__(self, mount, count):
        self.mounts = [mount] * count
        self.kill = None

    def close(self):
        pass


@contextlib.contextmanager
def tmpfs(place, _seconds, count):
    mount = place / "tmpfs"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", mount], check=True)
    try:
        yield OneMount(mount, count)
    finally:
        subprocess.run(["umount", "-l", mount], check=True)


@contextlib.contextmanager
def local(place, _seconds, count):
    yield OneMount(place, count)


@contextlib.contextmanager
def bindfs(place, seconds, count):
    below = place / "below"
    below.mkdir()
    options = [] if seconds is None else ["-o", f"entry_timeout={seconds},attr_timeout={seconds},negative_timeout={seconds}"]
    with contextlib.closing(Clients(place, lambda mount: ["bindfs", "-f", *options, below, mount], count)) as clients:
        yield clients


def ask_gluster(*arguments):
    return subprocess.run(["gluster", "--mode=script", *arguments], capture_output=True, text=True, timeout=120)


@contextlib.contextmanager
def gluster(place, seconds, count, bricks=1):
    daemon = None
    if ask_gluster("volume", "list").returncode != 0:
        daemon = subprocess.Popen(["glusterd", "-N"], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: ask_gluster("volume", "list").returncode == 0, 60)
    host, volume = os.uname().nodename, f"zarrfs{os.getpid()}{'d' if seconds is None else seconds}"
    options = [] if seconds is None else [f"--{name}-timeout={seconds}" for name in ("entry", "attribute", "negative")]
    try:
        of_it = [f"{host}:{place}/brick{number + 1}" for number in range(bricks)]
        for command in (("volume", "create", volume, *of_it, "force"), ("volume", "start", volume)):
            done = ask_gluster(*command)
            if done.returncode != 0:
                sys.exit(f"gluster {' '.join(command)}: {done.stdout}{done.stderr}")
        mount_with = ["glusterfs", "-N", f"--volfile-server={host}", f"--volfile-id={volume}", *options, f"--log-file={place}/gluster.log"]
        with contextlib.closing(Clients(place, lambda mount: [*mount_with, mount], count)) as clients:
            yield clients
    finally:
        ask_gluster("volume", "stop", volume, "force")
        ask_gluster("volume", "delete", volume)
        if daemon:
            daemon.terminate()
            daemon.wait()


@contextlib.contextmanager
def moosefs(place, seconds, count):
    for folder in ("master", "chunks", "disk"):
        (place / folder).mkdir()
    shutil.copy("/var/lib/mfs/metadata.mfs.empty", place / "master" / "metadata.mfs")
    (place / "exports").write_text("* / rw,alldirs,maproot=0\n")
    (place / "hdd").write_text(f"{place / 'disk'}\n")
    (place / "topology").write_text("")
    common = "WORKING_USER = root\nWORKING_GROUP = root\nNICE_LEVEL = 5\n"
    (place / "master.cfg").write_text(f"{common}DATA_PATH = {place / 'master'}\nEXPORTS_FILENAME = {place / 'exports'}\nTOPOLOGY_FILENAME = {place / 'topology'}\n")
    (place / "chunks.cfg").write_text(f"{common}DATA_PATH = {place / 'chunks'}\nHDD_CONF_FILENAME = {place / 'hdd'}\nMASTER_HOST = {ADDRESS}\n")
    daemons = [("mfsmaster", place / "master.cfg"), ("mfschunkserver", place / "chunks.cfg")]
    caches = "" if seconds is None else "".join(f",mfs{name}cacheto={seconds}" for name in ("entry", "attr", "negentry", "direntry"))
    try:
        for daemon, configuration in daemons:
            done = subprocess.run([daemon, "-c", configuration, "start"], capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{daemon}: {done.stdout}{done.stderr}")
        with contextlib.closing(Clients(place, lambda mount: ["mfsmount", mount, "-f", "-o", f"mfsmaster={ADDRESS}{caches}"], count)) as clients:
            until(lambda: os.statvfs(clients.mounts[0]).f_bavail > 0, 120)  # its chunk server is known
            yield clients
    finally:
        for daemon, configuration in reversed(daemons):
            subprocess.run([daemon, "-c", configuration, "stop"], capture_output=True)


@contextlib.contextmanager
def juicefs(place, seconds, count):
    """Its names in Redis, its bytes in a directory. Each client is one process, without the one that would start it again."""
    server = subprocess.Popen(["redis-server", "--bind", ADDRESS, "--dir", place, "--save", "", "--protected-mode", "no"], stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        names = f"redis://{ADDRESS}/1"
        until(lambda: subprocess.run(["redis-cli", "-h", ADDRESS, "ping"], capture_output=True).returncode == 0, 60)
        done = subprocess.run(["juicefs", "format", "--storage", "file", "--bucket", f"{place / 'objects'}/", "--trash-days", "0", names, "zarrfs"], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"juicefs format: {done.stderr}")
        caches = [] if seconds is None else [f"--{name}-cache={seconds}s" for name in ("attr", "entry", "dir-entry", "negative-entry")]
        mount_with = ["env", "JFS_SUPERVISOR=1", "juicefs", "mount", "--no-usage-report", "--no-syslog", "--backup-meta=0", "--cache-size=0", *caches, names]
        with contextlib.closing(Clients(place, lambda mount: [*mount_with, mount], count)) as clients:
            yield clients
    finally:
        server.terminate()
        server.wait()


# name: (what makes it, the program that it needs, whether it has caches of its own)
KINDS = {
    "tmpfs": (tmpfs, "mount", False),
    "local": (local, "stat", False),
    "bindfs": (bindfs, "bindfs", True),
    "gluster": (gluster, "glusterd", True),
    "gluster2": (functools.partial(gluster, bricks=2), "glusterd", True),
    "moosefs": (moosefs, "mfsmaster", True),
    "juicefs": (juicefs, "juicefs", True),
}


def title_of(kind, place, seconds):
    """What a file system is called in a table."""
    if kind == "local":
        found = subprocess.run(["stat", "-f", "-c", "%T", place], capture_output=True, text=True, check=True).stdout.strip()
        return f"{'ext4' if found == 'ext2/ext3' else found}, one mount"
    name = {"tmpfs": "tmpfs, one mount", "bindfs": "bindfs over a local directory", "gluster": "GlusterFS, one brick", "gluster2": "GlusterFS, two bricks", "moosefs": "MooseFS", "juicefs": "JuiceFS, Redis"}[kind]
    return name if seconds is None else f"{name}, caches of {seconds} s"


def has(kind):
    program = KINDS[kind][1]
    if shutil.which(program):
        return True
    print(f"{kind}: {program} is not installed", file=sys.stderr)
    return False
