"""refusing.py CALL ERROR COMMAND...: runs a command to which the kernel refuses one system call, as where what all processes share is used up. Needs root."""
import ctypes
import errno
import os
import platform
import struct
import sys

SINCE_2019 = {"openat2": 437, "close_range": 436, "faccessat2": 439, "pidfd_open": 434}  # the same everywhere
NUMBERS = {"x86_64": {"inotify_init1": 294, "unshare": 272, **SINCE_2019}, "aarch64": {"inotify_init1": 26, "unshare": 97, **SINCE_2019}}
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
LOAD_CALL, RETURN, IF_EQUAL = 0x20, 0x06, 0x15
ALLOW, ERRNO = 0x7FFF0000, 0x00050000


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def refuse(call, error):
    steps = [(LOAD_CALL, 0, 0, 0), (IF_EQUAL, 0, 1, NUMBERS[platform.machine()][call]), (RETURN, 0, 0, ERRNO | error), (RETURN, 0, 0, ALLOW)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = Program(len(steps), ctypes.cast(text, ctypes.c_void_p))
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_SECCOMP)")


if __name__ == "__main__":
    refuse(sys.argv[1], getattr(errno, sys.argv[2]))
    os.execvp(sys.argv[3], sys.argv[3:])
