"""Python programs of readers and writers, without the start of their libraries each time: one process of an environment imports them,
and each program is a child of it (fork), with its own arguments, output and end. Its modules are fresh but for those that were imported."""
import array
import atexit
import contextlib
import functools
import json
import os
import signal
import socket
import subprocess
import tempfile

# Runs in the environment. Each request is a program's text and arguments, with the descriptors of its output.
SERVER = """
import array, gc, json, os, socket, sys
channel = socket.socket(fileno=int(sys.argv[1]))
for name in sys.argv[2:]:
    try:
        __import__(name)
    except ImportError:
        pass  # the program says so itself
gc.freeze()  # what is collected in a child would be copied for it first
os.chdir("/")
while True:
    head, ancillary, _, _ = channel.recvmsg(8, socket.CMSG_SPACE(8))
    if not head:
        sys.exit()
    request = b""
    while len(request) < int(head, 16):
        request += channel.recv(int(head, 16) - len(request))
    output = array.array("i", ancillary[0][2])
    child = os.fork()
    if child:
        for descriptor in output:
            os.close(descriptor)
        channel.sendall(b"%08x" % child)
        channel.sendall(b"%08x" % (os.waitpid(child, 0)[1] & 0xFFFFFFFF))
        continue
    channel.close()
    for to, descriptor in enumerate(output, 1):
        os.dup2(descriptor, to)
        os.close(descriptor)
    text, words = json.loads(request)
    sys.argv = ["-c", *words]
    break
import warnings
warnings.simplefilter("ignore")
__name__ = "__main__"
exec(compile(text, "<program>", "exec"), {"__name__": "__main__"})
"""


class WarmPython:
    def __init__(self, python, modules):
        self.channel, theirs = socket.socketpair()
        self.server = subprocess.Popen([python, "-W", "ignore", "-c", SERVER, str(theirs.fileno()), *modules], stdin=subprocess.DEVNULL,
                                       pass_fds=[theirs.fileno()])
        theirs.close()
        atexit.register(self.end)

    def end(self):
        self.channel.close()  # the server ends with it
        self.server.wait()

    def run(self, text, words, timeout):
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            request = json.dumps([text, words]).encode()
            descriptors = array.array("i", [output.fileno(), errors.fileno()])
            self.channel.sendmsg([b"%08x" % len(request)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
            self.channel.sendall(request)
            child = self.number()
            self.channel.settimeout(timeout)
            try:
                status = self.number()
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
                raise
            finally:
                self.channel.settimeout(None)
            for file in (output, errors):
                file.seek(0)
            return subprocess.CompletedProcess(words, os.waitstatus_to_exitcode(status), output.read().decode(), errors.read().decode())

    def number(self):
        text = b""
        while len(text) < 8:
            more = self.channel.recv(8 - len(text))
            assert more, "the process that has the libraries has ended"
            text += more
        return int(text, 16)


@functools.cache
def warm(python, modules):
    return WarmPython(python, modules)


def run_warm(python, modules, text, *words, timeout=600):
    """What `python -c text words` prints, with `modules` imported already."""
    done = warm(python, tuple(modules)).run(text, [str(word) for word in words], timeout)
    assert done.returncode == 0, f"{python}: {done.stderr[-3000:]}"
    return done.stdout
