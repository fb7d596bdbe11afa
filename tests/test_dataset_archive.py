from __future__ import annotations

import io
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from http_server import Answer, Server
from nclue_core.errors import InputError, NetworkError, UsageError
from nclue_dataset import archive
from nclue_dataset.release import read_release
from tiny_release import write_tiny


def tar_with(path: Path, *members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as tar:
        for info, content in members:
            info.size = len(content) if info.isreg() else 0
            tar.addfile(info, io.BytesIO(content))
    return path


def zip_with(path: Path, *members: tuple[zipfile.ZipInfo | str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members:
            opened.writestr(name, content, zipfile.ZIP_DEFLATED)
    return path


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def nothing_but(folder: Path, *names: str) -> bool:
    return sorted(p.name for p in folder.iterdir()) == sorted(names)


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_an_archive_of_a_forge_becomes_the_release_without_its_top_folder(tmp_path, kind):
    release = write_tiny(tmp_path / "n_clue-abc123")
    files = [p for p in sorted(release.rglob("*")) if p.is_file()]
    names = [f"n_clue-abc123/{p.relative_to(release).as_posix()}" for p in files]
    path = tmp_path / f"release.{kind}"
    if kind == "zip":
        zip_with(path, *((n, p.read_bytes()) for n, p in zip(names, files, strict=True)))
    else:
        members = [(entry(n), p.read_bytes()) for n, p in zip(names, files, strict=True)]
        tar_with(path, *members, mode="w" if kind == "tar" else "w:gz")
    folder = archive.acquire_release(str(path), None, tmp_path / "work")
    assert len(read_release(folder).collection("tiny").queries) == 3


@pytest.mark.parametrize(
    "name", ["../evil", "a/../../evil", "/etc/evil", "a\\b", "C:evil", "a\nb", "a\x1fb"]
)
def test_a_name_that_could_leave_the_folder_is_refused_and_leaves_nothing(tmp_path, name):
    path = tar_with(tmp_path / "a.tgz", (entry("good"), b"x"), (entry(name), b"x"))
    with pytest.raises(InputError, match="unsafe name"):
        archive.unpack_release(path, tmp_path / "out")
    zipped = zip_with(tmp_path / "a.zip", ("good", b"x"), (name, b"x"))
    with pytest.raises(InputError, match="unsafe name"):
        archive.unpack_release(zipped, tmp_path / "out")
    assert nothing_but(tmp_path, "a.tgz", "a.zip")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE,
                                  tarfile.FIFOTYPE])  # fmt: skip
def test_links_and_devices_are_refused(tmp_path, kind):
    path = tar_with(tmp_path / "a.tgz", (entry("a"), b"x"), (entry("b", kind, "/etc/passwd"), b""))
    with pytest.raises(InputError, match="link or device"):
        archive.unpack_release(path, tmp_path / "out")


def test_a_link_in_a_zip_is_refused(tmp_path):
    info = zipfile.ZipInfo("b")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with pytest.raises(InputError, match="link or device"):
        archive.unpack_release(zip_with(tmp_path / "a.zip", (info, b"/etc")), tmp_path / "out")


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [("a", "a", "twice"), ("a/b", "A/B", "twice"), ("caf\u00e9", "cafe\u0301", "twice"),
     ("x", "x/y", "lies in a file")],
)  # fmt: skip
def test_names_that_collide_on_some_file_system_are_refused(tmp_path, first, second, message):
    path = tar_with(tmp_path / "a.tgz", (entry(first), b"1"), (entry(second), b"2"))
    with pytest.raises(InputError, match=message):
        archive.unpack_release(path, tmp_path / "out")


def test_bombs_are_refused_by_size_ratio_and_number(tmp_path, monkeypatch):
    path = tar_with(tmp_path / "a.tgz", (entry("zeros"), bytes(2_000_000)))
    monkeypatch.setattr(archive, "RATIO_FREE_BYTES", 1_000_000)
    with pytest.raises(InputError, match="unpacked it would be more than 1,000,000"):
        archive.unpack_release(path, tmp_path / "out")
    monkeypatch.setattr(archive, "MAX_FILES", 2)
    many = tar_with(tmp_path / "b.tgz", *((entry(f"f{i}"), b"") for i in range(3)))
    with pytest.raises(InputError, match="more than 2 files"):
        archive.unpack_release(many, tmp_path / "out")


def test_a_damaged_archive_leaves_nothing(tmp_path):
    whole = tar_with(tmp_path / "a.tgz", (entry("a"), bytes(range(256)) * 4000)).read_bytes()
    (tmp_path / "a.tgz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="damaged"):
        archive.unpack_release(tmp_path / "a.tgz", tmp_path / "out")
    (tmp_path / "b.zip").write_bytes(b"<html>not an archive</html>")
    with pytest.raises(InputError, match="damaged or not an archive"):
        archive.unpack_release(tmp_path / "b.zip", tmp_path / "out")
    assert nothing_but(tmp_path, "a.tgz", "b.zip")


def test_a_header_that_claims_a_huge_name_is_refused(tmp_path):
    info = entry("././@PaxHeader", tarfile.XHDTYPE)
    info.size = 2**30
    (tmp_path / "a.tar").write_bytes(info.tobuf() + bytes(4096))
    with pytest.raises(InputError, match="damaged"):
        archive.unpack_release(tmp_path / "a.tar", tmp_path / "out")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with Server().running() as running:
        running.answers |= {
            "/loop": [Answer(302, headers={"Location": "/loop"})],
            "/file": [Answer(302, headers={"Location": "file:///etc/passwd"})],
            "/ok": [Answer(302, headers={"Location": "/body"})],
            "/body": [Answer(200, b"data")],
            "/cut": [Answer(200, b"data", {"Content-Length": "1000"}, cut=4)],
            "/big": [Answer(200, b"data", {"Content-Length": str(10**9)}, cut=4)],
            "/endless": [Answer(200, bytes(10**7), framed=False)],
        }
        yield running.base


def test_a_download_follows_a_redirect_and_is_whole(server, tmp_path):
    archive.download(f"{server}/ok", tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == b"data"


@pytest.mark.parametrize(
    ("path", "message"),
    [("missing", "answered 404"), ("loop", "more than 5 redirects"), ("file", "is refused"),
     ("cut", "4 of 1,000 bytes|could not be fetched"), ("big", "1,000,000,000 bytes announced"),
     ("endless", "more than 500,000 bytes were sent")],
)  # fmt: skip
def test_a_failed_download_says_why_and_leaves_nothing(server, tmp_path, path, message):
    with pytest.raises(NetworkError, match=message):
        archive.download(f"{server}/{path}", tmp_path / "x", max_bytes=500_000)
    assert nothing_but(tmp_path)


def test_without_a_server_the_error_names_three_ways_to_supply_a_release(tmp_path):
    with pytest.raises(NetworkError, match="Three ways to supply a release"):
        archive.download("http://127.0.0.1:9/x", tmp_path / "x", timeout_s=2)
    with pytest.raises(UsageError, match="http or https"):
        archive.download("ftp://example.org/x", tmp_path / "x")


def test_files_that_differ_from_the_checksums_stop_the_acquisition(tmp_path):
    release = write_tiny(tmp_path / "r")
    assert archive.verify_sha256sums(release) == []
    with (release / "qrels.jsonl").open("a") as stream:
        stream.write("\n")
    (release / "corpus.jsonl").unlink()
    problems = archive.verify_sha256sums(release)
    assert [problem.code for problem in problems] == ["missing-file", "checksum"]
    with pytest.raises(InputError, match=r"corpus\.jsonl is listed, but is not there"):
        archive.acquire_release(str(release), None, tmp_path / "work")


def test_the_public_archive_is_addressed_by_revision():
    address = archive.public_archive_url("main")
    assert address == "https://github.com/sunggukcha/n_clue/archive/main.tar.gz"
    for revision in ("../x", "a b", "", "x?y"):
        with pytest.raises(UsageError, match="not a branch"):
            archive.public_archive_url(revision)
