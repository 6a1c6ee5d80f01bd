"""docs/troubleshooting.md has each message of mounting and of opening a store, and each kind of fault; and no other."""
import glob
import os
import re

import messages
import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCUMENT = "docs/troubleshooting.md"
# Messages that users meet while mounting and opening a store. What is said of a store's contents names the object and
# the numbers; the document has it by kind of fault.
SOURCES = [name for name in sorted(glob.glob("fs/**/*.cc", root_dir=ROOT, recursive=True)) if "doctor" not in name] + [
    "core/store/local_file.cc", "core/store/local_store.cc", "core/store/source.cc", "core/store/store.cc",
    "core/store/remote/spool.cc", "core/store/remote/spooled_store.cc", "core/store/remote/object_writer.cc",
    "core/store/remote/remote_store.cc", "core/store/remote/parts_use.cc"]
# Whose messages the document has some of.
FURTHER = ["core/vfs/removal.cc", "core/nodes/metadata_editor.cc", "core/formats/parquet/parquet_table.cc", "core/formats/references/reference_records.cc", "core/formats/references/reference_table.cc", "core/formats/references/reference_templates.cc", "core/formats/references/references_store.cc", "core/formats/virtual_targets.cc", "core/formats/icechunk/icechunk_files.cc", "core/formats/icechunk/icechunk_refs.cc", "core/formats/icechunk/icechunk_store.cc", "core/store/http/revision.cc", "core/base/read_exactly.cc", "core/store/cache/disk_cache.cc", "core/store/http/bucket_client.cc", "core/store/http/google_client.cc", "core/store/http/s3_client.cc", "core/store/http/object_client.cc", "core/store/zip/archive_store.cc", "core/store/zip/entry_files.cc", "core/store/zip/zip_directory.cc", "core/store/zip/zip_store.cc", "tools/convert/convert_archive.cc", "core/write/committer.h", "core/write/write_buffer.cc", "core/write/spool_limit.cc", "core/log/lock.cc", "core/log/log.h", "core/store/unfinished.cc", "tools/convert/parts.cc", "fs/serve/site.cc"]


@pytest.fixture(scope="module")
def document():
    with open(os.path.join(ROOT, DOCUMENT)) as text:
        return text.read()


def test_every_message_is_explained(document):
    found = messages.messages(ROOT, SOURCES)
    assert len(found) > 50, found
    missing = [f"{name}: {fragment}" for fragment, name in found.items() if fragment not in document]
    assert not missing, f"{DOCUMENT} does not explain these; add a row for each:\n" + "\n".join(missing)


def test_every_explained_message_exists(document):
    everything = ""
    for name in SOURCES + FURTHER:
        with open(os.path.join(ROOT, name)) as source:
            everything += " ".join(messages.literals(source.read())).replace('\\"', '"')
    unknown = []
    for row in re.findall(r"^\| (`.*?`) \|", document.split("## Faults")[0], flags=re.M):
        for message in re.findall(r"`([^`]+)`", row):
            unknown += [f"{message}: {part}" for part in (one.strip(' ":;,\'') for one in message.split("..."))
                        if len(part) >= messages.SHORTEST and part not in everything]
    assert not unknown, "no source says:\n" + "\n".join(unknown)


def test_every_kind_of_fault_has_a_row(document):
    with open(os.path.join(ROOT, "core/base/result.h")) as header:
        numbers = set(re.findall(r"case Fault::k\w+: return (E\w+);", header.read()))
    rows = set(re.findall(r"^\| `(E[A-Z]+)` \|", document, flags=re.M))
    assert numbers == rows, f"without a row: {numbers - rows}; without a fault: {rows - numbers}"
    assert not rows & {"ENOENT", "ENOTDIR", "EISDIR"}
