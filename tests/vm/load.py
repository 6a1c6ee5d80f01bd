"""Reads a mount with many threads until there is an error: load.py FOLDER THREADS [COUNT]. Prints the errno, or 0 after COUNT reads each."""
import os
import sys
import threading

folder, threads, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1 << 60
names = [os.path.join(at, name) for at, _, files in os.walk(folder) for name in files if not name.endswith(".json")]
found = []


def read(start):
    try:
        for i in range(count):
            name = names[(start + i) % len(names)]
            descriptor = os.open(name, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)  # so that the mount is asked again
            while os.read(descriptor, 1 << 20):
                pass
            os.close(descriptor)
            if os.path.lexists(f"{name}.{start}.{i}"):
                raise OSError(0, "a name that is not there was found")
        found.append(0)
    except OSError as problem:
        found.append(problem.errno)


readers = [threading.Thread(target=read, args=(i * 7,)) for i in range(threads)]
for reader in readers:
    reader.start()
print("begun", flush=True)
for reader in readers:
    reader.join()
print(max(found), flush=True)
