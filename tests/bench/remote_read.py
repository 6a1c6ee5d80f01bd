"""Reads the array of tests/bench/remote by one way and prints the seconds, a sum, and the seconds of its processor time:
remote_read.py WAY TASK PLACE [ENDPOINT]"""
import os
import random
import sys
import time

BUCKET = "bucket"


def open_zarr(store):
    import zarr
    return zarr.open_array(store, mode="r")


def by_obstore(place, endpoint):
    from obstore.store import S3Store
    from zarr.storage import ObjectStore
    return open_zarr(ObjectStore(S3Store(BUCKET, prefix=place, endpoint=endpoint, region="us-east-1", client_options={"allow_http": True}), read_only=True))


def by_s3fs(place, endpoint):
    from zarr.storage import FsspecStore
    return open_zarr(FsspecStore.from_url(f"s3://{BUCKET}/{place}", storage_options={"endpoint_url": endpoint}, read_only=True))


class Spec:
    """TensorStore's array, read as the others are."""

    def __init__(self, store):
        import tensorstore
        self.array = tensorstore.open({"driver": "zarr3", "kvstore": store}, open=True).result()

    def __getitem__(self, where):
        return self.array[where].read().result()


def by_tensorstore(place, endpoint):
    return Spec({"driver": "s3", "bucket": BUCKET, "path": place + "/", "endpoint": endpoint, "aws_region": "us-east-1"})


def by_tensorstore_of_files(place, _):
    return Spec({"driver": "file", "path": place + "/"})


def by_directory(place, _):
    return open_zarr(place)


WAYS = {"directory": by_directory, "obstore": by_obstore, "s3fs": by_s3fs, "tensorstore": by_tensorstore,
        "tensorstore of files": by_tensorstore_of_files}


def names_of(way, place, endpoint):
    """Those of all files or objects of the array."""
    if way in ("directory", "tensorstore of files"):
        return [name for _, _, names in os.walk(place) for name in names]
    if way == "obstore":
        from obstore.store import S3Store
        store = S3Store(BUCKET, endpoint=endpoint, region="us-east-1", client_options={"allow_http": True})
        return [one["path"] for page in store.list(prefix=place) for one in page]
    if way == "s3fs":
        import s3fs
        return s3fs.S3FileSystem(endpoint_url=endpoint).find(f"{BUCKET}/{place}")
    import tensorstore
    store = tensorstore.KvStore.open({"driver": "s3", "bucket": BUCKET, "path": place + "/", "endpoint": endpoint, "aws_region": "us-east-1"}).result()
    return store.list().result()


def read(way, task, place, endpoint):
    if task == "list":
        return len(names_of(way, place, endpoint))
    array = WAYS[way](place, endpoint)
    if task == "full":
        return int(array[:, :, :].sum(dtype="u8"))
    if task == "plane":
        return int(array[256, :, :].sum(dtype="u8"))
    chance = random.Random(5)
    total = 0
    for _ in range(1 if task == "one" else 100):
        x, y, z = (32 * chance.randrange(16) for _ in range(3))
        total += int(array[x:x + 32, y:y + 32, z:z + 32].sum(dtype="u8"))
    return total


def load(way):
    """What is imported first takes no part in the time."""
    for module in {"directory": ["zarr"], "obstore": ["zarr.storage", "obstore"], "s3fs": ["zarr.storage", "s3fs"]}.get(way, ["tensorstore"]):
        __import__(module)


if __name__ == "__main__":
    way, task, place, *endpoint = sys.argv[1:]
    load(way)
    begin, worked = time.perf_counter(), time.process_time()
    result = read(way, task, place, endpoint[0] if endpoint else "")
    print(time.perf_counter() - begin, result, time.process_time() - worked)
