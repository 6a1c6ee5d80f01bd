"""Prints references that lie in Parquet (kerchunk's refs.parq) as the JSON that zarrfs reads. Needs pandas and pyarrow.

    python3 examples/parquet_references.py refs.parq > refs.json
"""
import base64
import itertools
import json
import os
import sys

import pandas


def main(top):
    with open(os.path.join(top, ".zmetadata")) as text:
        told = json.load(text)
    refs = {key: json.dumps(document) for key, document in told["metadata"].items()}
    for key, array in told["metadata"].items():
        if not key.endswith(".zarray"):
            continue
        folder = key[:-len(".zarray")]
        separator = array.get("dimension_separator", ".")
        counts = [-(-length // chunk) for length, chunk in zip(array["shape"], array["chunks"])]
        for number, place in enumerate(itertools.product(*map(range, counts))):
            row = number % told["record_size"]
            if row == 0:
                file = os.path.join(top, folder, f"refs.{number // told['record_size']}.parq")
                rows = pandas.read_parquet(file).itertuples(index=False) if os.path.exists(file) else iter(())
            one = next(rows, None)
            if one is None:
                continue
            chunk = folder + (separator.join(map(str, place)) or "0")
            if isinstance(one.raw, bytes):
                refs[chunk] = "base64:" + base64.b64encode(one.raw).decode()
            elif isinstance(one.path, str):
                refs[chunk] = [one.path, int(one.offset), int(one.size)] if one.size else [one.path]
    json.dump({"version": 1, "refs": refs}, sys.stdout)


main(sys.argv[1])
