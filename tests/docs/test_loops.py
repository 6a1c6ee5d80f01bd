"""tests/layers/check_loops.py fails where a loop has no entry, where an entry has no loop, and where what an entry says is not so."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
LOOP = "while (server.says(more))"


def check(root, source, table):
    (root / "core/store").mkdir(parents=True, exist_ok=True)
    (root / "tests/layers").mkdir(parents=True, exist_ok=True)
    (root / "core/store/x.cc").write_text(source)
    (root / "tests/layers/loops.txt").write_text(table)
    return subprocess.run([sys.executable, ROOT / "tests/layers/check_loops.py", root], capture_output=True, text=True, env={**os.environ})


def test_a_loop_needs_an_entry_that_is_true(tmp_path):
    plain, asking = f"void f() {{\n  {LOOP} take();\n}}\n", f"void f() {{\n  {LOOP} {{\n    ZARRFS_CHECK(check_wanted());\n  }}\n}}\n"
    entry = f"core/store/x.cc | {LOOP} | "
    assert "x.cc:2: no entry" in check(tmp_path, plain, "").stdout
    assert check(tmp_path, plain, entry + "memory\n").returncode == 0
    assert "no such loop" in check(tmp_path, plain, entry + "memory\n" + entry + "memory\n").stdout
    assert "does not call check_wanted" in check(tmp_path, plain, entry + "asks check_wanted\n").stdout
    assert check(tmp_path, asking, entry + "asks check_wanted\n").returncode == 0
    assert "there is no kMost" in check(tmp_path, plain, entry + "constant kMost\n").stdout
    assert "of what?" in check(tmp_path, plain, entry + "number\n").stdout
    assert "is none of" in check(tmp_path, plain, entry + "surely\n").stdout


def test_which_loops_are_counted(tmp_path):
    counted = ["for (std::uint64_t i = 0; i < claimed; ++i) {}", "for (;;) {}", "do {} while (more());", "void g(int a) { g(a); }"]
    for source in counted:
        assert "no entry" in check(tmp_path, source + "\n", "").stdout, source
    others = ["for (const auto& one : list) {}", "for (std::size_t i = 0; i < list.size(); ++i) {}", "for (int i = 0; i < kMost; ++i) {}",
              "while (read() < 0 && errno == EINTR) {}", "while (text.ends_with('/')) text.pop_back();", "// while (comment) {}", '"while (text) {}";']
    for source in others:
        assert "no entry" not in check(tmp_path, source + "\n", "").stdout, source
