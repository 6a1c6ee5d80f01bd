"""A small store in a bucket, and its mounts, which have spools of their own."""
import os


class MountedBucket:
    """`options(spool, more)` is the subclass's: by it a mount finds the server."""

    def __init__(self, folder, mount):
        self.folder, self.mount, self.mounts = folder, mount, []

    def open(self, spool="spool", more="flush_after=3600", damaged=False):
        self.mounts.append(self.mount("s3://bucket/store", self.options(spool, more), damaged=damaged))
        return self.mounts[-1]

    def close(self):
        """The mounts first: they need the server."""
        for mounted in self.mounts:
            mounted.close()

    @staticmethod
    def chunks_through(reader):
        """{chunk: bytes} of the array; closes the mount."""
        found = {}
        for name in os.listdir(reader / "a"):
            if not name.startswith("."):
                with open(reader / f"a/{name}", "rb") as file:
                    found[name] = file.read()
        reader.close()
        return found
