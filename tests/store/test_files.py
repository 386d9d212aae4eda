"""Files are written whole or not at all."""

import os
import signal
import subprocess
import sys

import pytest

from bfc_bench.errors import OutputError
from bfc_bench.utils.files import inside, make_folder, write_file


def mode(path):
    return path.stat().st_mode & 0o777


def test_a_full_disk_leaves_what_was_there_and_nothing_beside_it(tmpfs):
    path = tmpfs / "rows.csv"
    write_file(path, b"before")
    with pytest.raises(OutputError, match=r"rows\.csv cannot be written: No space left on device"):
        write_file(path, b"x" * 2_000_000)
    assert path.read_bytes() == b"before"
    assert list(tmpfs.iterdir()) == [path]


def test_a_writer_killed_at_any_moment_leaves_one_of_the_two_contents(tmp_path):
    path, size = tmp_path / "page", 3_000_000
    write_file(path, b"a" * size)
    code = (
        "import sys; from pathlib import Path; from bfc_bench.utils.files import write_file\n"
        f"while True:\n  for letter in (b'b', b'a'): write_file(Path(sys.argv[1]), letter * {size}); print(flush=True)"
    )
    for moment in range(4):
        writer = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE)
        for _ in range(1 + moment % 3):
            writer.stdout.readline()
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()
        content = path.read_bytes()
        assert len(content) == size
        assert content in (b"a" * size, b"b" * size)


def test_modes_are_those_of_the_file_before_or_of_the_folder(tmp_path):
    make_folder(tmp_path / "open")
    make_folder(tmp_path / "closed", private=True)
    assert (mode(tmp_path / "open"), mode(tmp_path / "closed")) == (0o755, 0o700)
    for path, private, expected in (
        (tmp_path / "open" / "a", False, 0o644),
        (tmp_path / "open" / "b", True, 0o600),
        (tmp_path / "closed" / "c", False, 0o600),
    ):
        write_file(path, b"1", private=private)
        assert mode(path) == expected
        path.chmod(0o640)
        write_file(path, b"2", private=private)
        assert (mode(path), path.read_bytes()) == (0o640, b"2")


def test_a_link_stays_a_link_and_a_pipe_a_pipe(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    write_file(link, b"content")
    assert link.is_symlink()
    assert target.read_bytes() == b"content"
    write_file(type(target)("/dev/null"), b"content")
    with pytest.raises(OutputError, match="No space left"):
        write_file(type(target)("/dev/full"), b"content")


@pytest.mark.parametrize("place", ["missing/file", "file/file", "."])
def test_a_place_that_is_none_is_one_sentence(place, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        write_file(tmp_path / place, b"content")
    with pytest.raises(OutputError, match="cannot be made"):
        make_folder(tmp_path / "file" / "folder")


def test_names_lead_nowhere_but_into_the_folder(tmp_path):
    folder = tmp_path / "folder"
    (folder / "a").mkdir(parents=True)
    assert inside(folder, "a", "b") == folder / "a" / "b"
    (folder / "in").symlink_to("a")
    assert inside(folder, "in", "b") == folder / "a" / "b"
    (folder / "out").symlink_to(tmp_path)
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    for name in ("../x", "/x", "a/../..", "a/../../x", ".", "", "out", "out/x", "pipe", "\0"):
        with pytest.raises(OutputError):
            inside(folder, name)
