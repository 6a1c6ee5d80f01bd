"""A small store in a bucket, and its mounts, which have spools of their own."""
import os


def chunks_of(mounted):
    """{chunk: bytes} of the array "a"."""
    found = {}
    for name in os.listdir(mounted / "a"):
        if not name.startswith("."):
            with open(mounted / f"a/{name}", "rb") as file:
                found[name] = file.read()
    return found


class MountedBucket:
    """`options(spool, more)` is the subclass's: by it a mount finds the server."""
    url = "s3://bucket/store"

    def __init__(self, folder, mount):
        self.folder, self.mount, self.mounts = folder, mount, []

    def open(self, spool="spool", more="flush_after=3600", damaged=False):
        self.mounts.append(self.mount(self.url, self.options(spool, more), damaged=damaged))
        return self.mounts[-1]

    def close(self):
        """The mounts first: they need the server."""
        for mounted in self.mounts:
            mounted.close()

    @staticmethod
    def chunks_through(reader):
        """As chunks_of(reader); closes the mount."""
        found = chunks_of(reader)
        reader.close()
        return found
