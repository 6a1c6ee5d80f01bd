"""What tests/shared has for file systems of several machines, tried on a local one."""
import os
import shutil
import subprocess

from conftest import ROOT, ZARRFS

SHARED = os.path.join(ROOT, "tests", "shared")


def row_of(program, *arguments, status=0):
    """The cells of the one row that it prints, and the lines behind it."""
    done = subprocess.run([os.path.join(SHARED, program), *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert done.returncode == status, done.stdout[-2000:] + done.stderr[-2000:]
    lines = done.stdout.splitlines()
    return [cell.strip() for cell in lines[2].strip("|").split("|")], lines[3:]


def test_a_local_file_system_grants_what_shared_writing_needs(tmp_path):
    cells, rest = row_of("measure", "local", "--rounds", 10, "--longest", 2, "--local", tmp_path)
    assert cells[1:9] == ["10 of 10", "10 of 10", "fail", "yes", "10 of 10", "no", "no", "no"]
    assert cells[9:] == ["holds; at once; not tried"] * 3 and not rest


def test_the_protocol_of_shared_writing_loses_nothing_on_a_local_file_system(tmp_path):
    cells, rest = row_of("rehearse", "local", "--faults", 8, "--lease", 1, "--local", tmp_path)
    assert int(cells[2]) > 20 and cells[3] == "0" and not rest, (cells, rest)


def test_the_rehearsal_finds_what_a_rename_in_place_of_a_link_loses(tmp_path):
    cells, rest = row_of("rehearse", "local", "--faults", 8, "--lease", 1, "--planted", "--local", tmp_path, status=1)
    assert any("is lost" in line or "tip" in line for line in rest), (cells, rest)


def test_what_programs_wrote_through_one_mount_survives_faults(tmp_path):
    cells, rest = row_of("faults", ZARRFS, "local", "--plain", "--faults", 6, "--round", 3, "--lease", 1, "--local", tmp_path)
    assert int(cells[2].split()[0]) > 20 and set(cells[3:11]) == {"0"}, (cells, rest)


def test_what_programs_wrote_through_several_mounts_survives_faults(tmp_path):
    cells, rest = row_of("faults", ZARRFS, "local", "--faults", 6, "--round", 3, "--lease", 1, "--mounts", 3, "--programs", 1, "--local", tmp_path)
    assert int(cells[2].split()[0]) > 20 and set(cells[3:11]) == {"0"}, (cells, rest)


def test_mounts_write_together_and_the_table_says_how_fast(tmp_path):
    cells, rest = row_of("throughput", ZARRFS, "local", "--chunks", 64, "--rounds", 1, "--local", tmp_path)
    assert cells[1] == "1, rw" and len(rest) == 3 and all(int(cell) > 0 for cell in cells[2:]), (cells, rest)


def test_a_damage_to_what_was_acknowledged_is_found(tmp_path):
    cells, rest = row_of("faults", ZARRFS, "local", "--plain", "--faults", 4, "--lease", 1, "--planted", "--local", tmp_path, status=1)
    assert all(int(count) > 0 for count in cells[3:6]), (cells, rest)
    shutil.rmtree(rest[-1].split()[-1])  # what it keeps where something is wrong
