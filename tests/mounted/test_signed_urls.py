"""What is secret in a URL stands nowhere that other users, or who reads a log, can see."""
import glob
import os
import subprocess

from conftest import DAEMON, within
from test_remote import array, run, serve  # noqa: F401

SIGNATURE = "hunter2hunter2"


def command_lines(word):
    """Of all processes whose command line holds `word`."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path) as file:
                words = file.read()
        except OSError:
            continue
        if word in words and "zarrfs" in words.partition("\0")[0]:
            found.append(words)
    return found


def check_nowhere(mounted):
    assert command_lines(str(mounted.path))
    with open("/proc/self/mountinfo") as table:
        mounts = table.read()
    assert str(mounted.path) in mounts
    for text in (*command_lines(str(mounted.path)), mounts, mounted.log_text(), run("mounts").stdout,
                 str(mounted.statistics()), str(mounted.report())):
        assert SIGNATURE not in text


def test_a_signature_of_a_mount_is_nowhere(serve, mount, array):  # noqa: F811
    store, path, chunk, data = array
    server = serve(os.path.dirname(store))
    mounted = mount(f"{server.url}/{store.name}?sig={SIGNATURE}", "view=v3,log_level=debug")
    os.listdir(mounted / path)
    assert any(SIGNATURE in seen["query"] for seen in server.seen)
    check_nowhere(mounted)


def test_a_mount_of_a_url_in_a_file(serve, mount, array, tmp_path):  # noqa: F811
    store, path, chunk, data = array
    server = serve(os.path.dirname(store))
    (tmp_path / "url").write_text(f"{server.url}/{store.name}?sig={SIGNATURE}\n")
    mounted = mount(f"url-file:{tmp_path}/url", "view=v3,log_level=debug")
    os.listdir(mounted / path)
    assert any(SIGNATURE in seen["query"] for seen in server.seen)
    check_nowhere(mounted)
    done = run("cat", f"url-file:{tmp_path}/url", f"{path}/{chunk}", text=False)
    assert done.stdout == data


def test_a_signature_of_a_command_is_nowhere_while_it_runs(serve, array):  # noqa: F811
    store, path, chunk, _ = array
    server = serve(os.path.dirname(store))
    server.delay = 600  # the command is ended long before
    url = f"{server.url}/{store.name}"
    command = subprocess.Popen([DAEMON, "info", f"{url}?sig={SIGNATURE}"], stdout=subprocess.DEVNULL)
    try:
        within(60, lambda: server.seen)
        lines = command_lines(url)
    finally:
        command.kill()
        command.wait()
    assert len(lines) == 1 and SIGNATURE not in lines[0] and f"{url}?****" in lines[0]
    assert SIGNATURE in server.seen[0]["query"]


def test_a_password_is_nowhere_while_it_is_refused(tmp_path):
    held = tmp_path / "held"
    os.mkfifo(held)
    command = subprocess.Popen([DAEMON, "info", f"http://me:{SIGNATURE}@127.0.0.1/x", f"url-file:{held}"],
                               stderr=subprocess.PIPE, text=True)
    within(60, lambda: any("*@127.0.0.1" in line for line in command_lines(str(held))))
    assert SIGNATURE not in "".join(command_lines(str(held)))
    held.write_text("no URL\n")
    _, told = command.communicate(timeout=600)
    assert command.returncode == 2 and SIGNATURE not in told and str(held) in told


def test_a_file_without_a_url_is_named(tmp_path):
    for file in (tmp_path / "absent", tmp_path, "/dev/null"):
        refused = run("info", f"url-file:{file}", status=2)
        assert f"url-file:{file}" in refused.stderr and "not a URL" in refused.stderr
