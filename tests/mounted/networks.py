"""Networks of their own, as other machines have them."""
import ipaddress
import os
import subprocess


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


class Network:
    """A network namespace with one link to this one."""

    def __init__(self, number):
        self.name, self.link = f"zarrfs-{os.getpid()}-{number}", f"zfs{os.getpid() % 100000}x{number}"
        # One of the 32,768 networks of four addresses in 198.18.0.0/15, which no other process that tests at this moment has.
        first = (198 << 24) + (18 << 16) + (os.getpid() % 16384 * 2 + number - 1) * 4
        self.here, self.there = (str(ipaddress.IPv4Address(first + host)) for host in (1, 2))
        ip("netns", "add", self.name)
        try:
            ip("link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", self.name)
            ip("addr", "add", f"{self.here}/30", "dev", self.link)
            ip("-n", self.name, "addr", "add", f"{self.there}/30", "dev", "eth0")
            ip("-n", self.name, "link", "set", "eth0", "up")
            self.set("up")
        except BaseException:
            self.remove()
            raise

    def set(self, state):
        ip("link", "set", self.link, state)

    def prefix(self):
        return ("nsenter", f"--net=/run/netns/{self.name}")

    def remove(self):
        ip("netns", "del", self.name, check=False)
        ip("link", "del", self.link, check=False)
