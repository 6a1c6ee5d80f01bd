"""By which ways requests reach a mount on this machine: /dev/fuse, and FUSE over io_uring where the kernel offers it."""
import sys

SETTING = "/sys/module/fuse/parameters/enable_uring"
WAYS = {"off": "device", "on": "io_uring"}  # the value of the option io_uring=: the way


def missing():
    """Why the kernel offers no FUSE over io_uring; empty where it does."""
    try:
        with open(SETTING) as text:
            return "" if text.read().startswith("Y") else "fuse.enable_uring is not set (tests/bench/with_io_uring sets it for a command)"
    except FileNotFoundError:
        return "this kernel has none"


def chosen(asked):
    """{way: the mount option for it} of values such as "off,on"; what the kernel does not offer is left out, and named."""
    values = asked.split(",")
    if set(values) - set(WAYS):
        sys.exit(f"--transports {asked}: there are {', '.join(WAYS)}")
    found = {WAYS[value]: f"io_uring={value}" for value in values}
    reason = missing()
    if "io_uring" in found and reason:
        del found["io_uring"]
        print(f"skipped: io_uring: {reason}", file=sys.stderr, flush=True)
    if not found:
        sys.exit(f"nothing to measure with --transports {asked}")
    return found
