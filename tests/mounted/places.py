"""Where a store may lie: at servers, in archives, and in archives at servers. Each place takes the folder `data` of stores, their names below it
and a folder of its own, and gives a function of a name: the source that zarrfs opens, and its options."""
import contextlib
import os
import zipfile

import azure_server
import azurite
import google_testbench
import nginx
import versitygw
from object_server import KEY, SECRET, ObjectServer
from serving import Served
from stores import files_of

CREDENTIALS = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_EC2_METADATA_DISABLED": "true",
               "GS_ACCESS_KEY_ID": KEY, "GS_SECRET_ACCESS_KEY": SECRET, "AZURE_STORAGE_KEY": azure_server.KEY}
AZURE = f"az://{azure_server.ACCOUNT}/{azure_server.CONTAINER}"


def pack(store, target, compression=zipfile.ZIP_STORED, only_documents=False):
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, full in files_of(store):
            kind = compression if not only_documents or os.path.basename(name) == "zarr.json" else zipfile.ZIP_STORED
            archive.write(full, name, kind)
    return target


@contextlib.contextmanager
def local(data, names, folder):
    yield lambda name: (os.path.join(data, name), "")


@contextlib.contextmanager
def http(data, names, folder):
    with contextlib.closing(ObjectServer(data, "")) as server:
        yield lambda name: (f"{server.url}/{name}", "")


@contextlib.contextmanager
def s3(data, names, folder):
    with contextlib.closing(ObjectServer(data, "bucket")) as server:
        yield lambda name: (f"s3://bucket/{name}", f"endpoint={server.url},region={server.region}")


@contextlib.contextmanager
def google(data, names, folder):
    with contextlib.closing(ObjectServer(data, "bucket")) as server:
        server.speak_google()
        yield lambda name: (f"gs://bucket/{name}", f"endpoint={server.url},region={server.region}")


@contextlib.contextmanager
def azure(data, names, folder):
    server = azure_server.AzureServer(data)
    try:
        yield lambda name: (f"{AZURE}/{name}", f"endpoint={server.url}")
    finally:
        server.close()


@contextlib.contextmanager
def azure_azurite(data, names, folder):
    with azurite.Azurite(os.path.join(folder, "azurite")) as server:
        for name in names:
            server.put(os.path.join(data, name), name)
        yield lambda name: (f"{AZURE}/{name}", f"endpoint={server.url}")


@contextlib.contextmanager
def s3_versitygw(data, names, folder):
    with versitygw.Versitygw(os.path.join(folder, "disk")) as server:
        for name in names:
            server.put(os.path.join(data, name), name)
        yield lambda name: (f"s3://bucket/{name}", f"endpoint={server.url},region={server.region}")


@contextlib.contextmanager
def google_of_testbench(data, names, folder):
    server = google_testbench.TestbenchServer()
    try:
        for name in names:
            server.put(os.path.join(data, name), name)
        yield lambda name: (f"gs://bucket/{name}", f"endpoint={server.url},region={server.region}")
    finally:
        server.close()


@contextlib.contextmanager
def https_nginx(data, names, folder):
    with nginx.Nginx(data, os.path.join(folder, "nginx")) as server:
        yield lambda name: (f"{server.url}/{name}", f"ca_file={server.certificate}")


@contextlib.contextmanager
def served(data, names, folder):
    """Each by a `zarrfs serve` of its own, as Zarr v3 without shards."""
    servers = {}
    try:
        def source_of(name):
            if name not in servers:
                servers[name] = Served(os.path.join(data, name), os.path.join(folder, "log"), options="view=v3,profile=generic")
            return servers[name].url, ""

        yield source_of
    finally:
        for server in servers.values():
            server.stop()


def packed(place, ending):
    """The place `place`, of archives."""

    @contextlib.contextmanager
    def made(data, names, folder):
        archives = os.path.join(folder, "archives")
        for name in names:
            os.makedirs(os.path.dirname(os.path.join(archives, name)), exist_ok=True)
            pack(os.path.join(data, name), os.path.join(archives, name) + ending)
        with place(archives, [name + ending for name in names], folder) as source_of:
            yield lambda name: source_of(name + ending)

    return made


PLACES = {
    "s3": s3, "s3 versitygw": s3_versitygw, "gs": google, "gs testbench": google_of_testbench, "az": azure, "az azurite": azure_azurite, "http": http, "https nginx": https_nginx,
    "zarrfs serve": served,
    "zip": packed(local, ".zip"), "ozx": packed(local, ".ozx"), "zip over http": packed(http, ".zip"), "zip over https nginx": packed(https_nginx, ".zip"),
    "zip in s3": packed(s3, ".zip"), "zip in s3 versitygw": packed(s3_versitygw, ".zip"), "zip in gs": packed(google, ".zip"),
    "zip in az": packed(azure, ".zip"),
}


def missing(place):
    """What a place needs and this machine has not, or nothing."""
    if "versitygw" in place and not os.path.exists(versitygw.PROGRAM):
        return "packaging/install-test-servers versitygw"
    if "azurite" in place and not os.path.exists(azurite.PROGRAM):
        return "packaging/install-test-servers azurite"
    if "testbench" in place and not os.path.exists(google_testbench.PYTHON):
        return "Google's storage-testbench: CONTRIBUTING.md"
    return "apt-get install nginx-light" if "nginx" in place and nginx.program() is None else None
