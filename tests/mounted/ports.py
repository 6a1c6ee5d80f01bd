"""Ports on loopback for servers that have to be told one."""
import random
import socket

# The kernel gives those from 32768 on to whoever asks for any: another test would have the port before the server does.
FIRST, LAST = 20000, 32000


def free_port():
    for _ in range(1000):
        port = random.SystemRandom().randrange(FIRST, LAST)
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise OSError(f"no port from {FIRST} to {LAST} is free")
