"""Where the user's cache is: also for a user without a home, and where the folder may not be searched."""

import os
from pathlib import Path

import pytest

from openwork.base.cache import find_cache, need_cache
from openwork.base.errors import OpenworkError

NO_PASSWD_ENTRY = 54_321
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")


def answer_of_user(user: int, home: str | None, name: str) -> str:
    """What `find_cache` answers a user of that number: in a child process, which alone becomes that user."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.environ.pop("XDG_CACHE_HOME", None)
        os.environ.pop("HOME", None)
        if home is not None:
            os.environ["HOME"] = home
        try:
            os.setgroups([])
            os.setuid(user)
            answer = str(find_cache(name))
        except BaseException as error:
            answer = repr(error)
        os.write(writing, answer.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    os.wait()
    return answer


def test_the_variable_comes_before_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert find_cache("a") == tmp_path / ".cache/openwork/a"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert find_cache("a") == tmp_path / "other/openwork/a"
    (tmp_path / "other/openwork/a").mkdir(parents=True)
    assert find_cache("a") == need_cache("a") == tmp_path / "other/openwork/a"


def test_a_file_in_place_of_the_cache_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "openwork").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert find_cache("a") is None
    with pytest.raises(OpenworkError, match="there is no folder to keep downloads in"):
        need_cache("a")


def test_a_name_that_no_disk_takes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/" + "x" * 300)
    assert find_cache("a") is None


@needs_root
def test_a_user_without_a_home():
    assert answer_of_user(NO_PASSWD_ENTRY, None, "a") == "None"


@pytest.mark.slow
@needs_root
def test_a_home_that_may_not_be_searched(tmp_path: Path):
    home = Path(os.path.realpath("/tmp")) / f"openwork-{os.getpid()}-home"
    (home / ".cache/openwork/a").mkdir(parents=True)
    try:
        assert answer_of_user(NO_PASSWD_ENTRY, str(home), "a") == str(home / ".cache/openwork/a")
        for closed in (home, home / ".cache", home / ".cache/openwork", home / ".cache/openwork/a"):
            closed.chmod(0o700)
            assert answer_of_user(NO_PASSWD_ENTRY, str(home), "a") == "None", closed
            closed.chmod(0o755)
    finally:
        for folder in (home / ".cache/openwork/a", home / ".cache/openwork", home / ".cache", home):
            folder.rmdir()
