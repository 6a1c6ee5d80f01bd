"""A process that writes and reads data sets for the matrix of writing, in any environment of packaging/install-test-readers: for each line
{"call": "write" or "read", "program", ...} on its standard input it prints {"answer": ...} or {"error": ...}.
"""
import gc
import json
import os
import sys
import warnings

import read_sets
import write_sets

warnings.simplefilter("ignore")


def versions():
    """Of all that this environment has."""
    from importlib.metadata import distributions

    wanted = ("zarr", "xarray", "numpy", "numcodecs", "netCDF4", "tensorstore", "rasterio", "ome-zarr", "ngff-zarr", "GDAL")
    found = {one.metadata["Name"]: one.version for one in distributions() if one.metadata["Name"] in wanted}
    if "netCDF4" in found:
        import netCDF4

        found["netCDF-C"] = netCDF4.__netcdf4libversion__
    return found


def answer_of(request):
    if request["call"] == "versions":
        return versions()
    if request["call"] == "write":
        return write_sets.WRITERS[request["program"]](request["data"], request["path"], request["plan"])
    return read_sets.READERS[request["program"]](request["path"], request["plan"])


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    for line in sys.stdin:
        try:
            answer = {"answer": answer_of(json.loads(line))}
        except Exception as error:  # whatever a program raises is its answer
            answer = {"error": f"{type(error).__name__}: {error}"[:400]}
        gc.collect()  # what is open still keeps its mount busy
        print(json.dumps(answer, default=str), file=answers, flush=True)


if __name__ == "__main__":
    main()
