"""Writes arrays of a Zarr v2 directory anew with zarr-python 2, with the same metadata and values: write_plain.py SOURCE TARGET ARRAY...

What a reader refuses of TARGET in the words in which it refuses it of SOURCE, it would refuse of any such directory.
"""
import os
import shutil
import sys
import warnings

import zarr

warnings.simplefilter("ignore")


def write(source, target):
    array = zarr.open_array(source, mode="r")
    plain = zarr.open_array(target, mode="w", shape=array.shape, chunks=array.chunks, dtype=array.dtype, compressor=array.compressor, filters=array.filters,
                            order=array.order, fill_value=array.fill_value, dimension_separator=array._dimension_separator)
    plain[...] = array[...]


def main():
    source, target, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    for name in names:
        group = os.path.dirname(name)
        os.makedirs(os.path.join(target, group), exist_ok=True)
        try:
            write(os.path.join(source, name), os.path.join(target, name))
        except Exception as error:  # an array that zarr-python cannot write stays a refusal
            print(f"{name}: {error}", file=sys.stderr)
            shutil.rmtree(os.path.join(target, name), ignore_errors=True)
        for document in (f"{group}/.zgroup", f"{group}/.zattrs", f"{name}/.zattrs", ".zgroup"):
            if os.path.exists(os.path.join(source, document)) and os.path.isdir(os.path.join(target, os.path.dirname(document))):
                shutil.copyfile(os.path.join(source, document), os.path.join(target, document))


if __name__ == "__main__":
    main()
