"""The core's hot functions, without kernel and disk (Google Benchmark)."""
import json
import os
import subprocess

from measure import Table, spell_seconds

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def core(bench):
    program = os.path.join(os.path.dirname(bench.reader), "core_bench")
    if not os.path.exists(program):
        bench.say("  core_bench was not built: Google Benchmark is not installed")
        return []
    command = [program, "--benchmark_format=json", f"--benchmark_repetitions={bench.rounds}", "--benchmark_min_time=0.2",
               "--benchmark_report_aggregates_only=true"]
    answer = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)
    table = Table("Processor time:", ["function", "a call", "an item"])
    for one in answer["benchmarks"]:
        if one.get("aggregate_name", "median") == "median":
            each = spell_nanoseconds(1 / one["items_per_second"]) if "items_per_second" in one else ""
            table.add(one["run_name"], spell_nanoseconds(one["cpu_time"] * UNITS[one["time_unit"]]), each)
    return [table]


def spell_nanoseconds(seconds):
    return f"{seconds * 1e9:.3g} ns" if seconds < 1e-6 else spell_seconds(seconds)
