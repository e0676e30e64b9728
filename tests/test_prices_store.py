"""The folder of refreshed snapshots is whole at every moment, whatever happens to the process that writes it."""

import errno
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.errors import PricesError
from advisor.prices import snapshot, store
from advisor.prices.sources.ask import PriceRow
from advisor.tables import Catalogue
from tests.test_prices_suspicion import catalogue, price

PRICES = (0.1, 0.2, 0.3)


def numbered(usd: float) -> Catalogue:
    """A catalogue of some rows that all have one price."""
    rows = [price(f"m{n}.large", usd, source="test") for n in range(40)]
    rows += [
        PriceRow(f"m{n}.large", "us-west-2", "spot", "last", "us-west-2a", price_usd_per_hour=usd)
        for n in range(40)
    ]
    return catalogue(*rows)


def held(folder: Path) -> set[float]:
    """The prices in a folder; one number where it is whole."""
    return set(snapshot.read(folder).prices["price_usd_per_hour"])


def current() -> Path:
    folder = store.refreshed()
    assert folder is not None
    return folder


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob(".writing-*")]


def test_before_the_first_refresh_there_is_none() -> None:
    assert store.refreshed() is None
    assert store.previous() is None


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_DATA_HOME": "/x"}, "/x/ec2-serving-advisor"),
        ("linux", {"HOME": "/home/joe"}, "/home/joe/.local/share/ec2-serving-advisor"),
        ("darwin", {"HOME": "/Users/joe"}, "/Users/joe/Library/Application Support/ec2-serving-advisor"),
        ("win32", {"LOCALAPPDATA": "/appdata"}, "/appdata/ec2-serving-advisor"),
        ("linux", {"ADVISOR_DATA_HOME": "/mine", "XDG_DATA_HOME": "/x"}, "/mine"),
    ],
)
def test_the_data_folder_is_where_the_platform_keeps_data(platform: str, variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    for name in ("ADVISOR_DATA_HOME", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert store.data_folder() == Path(expected)


def test_the_last_published_snapshot_is_current_and_the_one_before_it_is_kept() -> None:
    folders = [store.publish(numbered(usd)) for usd in PRICES]
    assert current() == folders[-1]
    assert store.previous() == folders[-2]
    assert not folders[0].exists()
    assert held(current()) == {0.3}


def test_the_same_catalogue_is_the_same_folder_with_the_same_bytes() -> None:
    first = store.publish(numbered(0.1))
    data = {path.name: path.read_bytes() for path in first.iterdir()}
    store.publish(numbered(0.2))
    assert store.publish(numbered(0.1)) == first == current()
    assert {path.name: path.read_bytes() for path in first.iterdir()} == data


def test_going_back_to_an_earlier_snapshot_keeps_the_one_it_replaced() -> None:
    first, second = store.publish(numbered(0.1)), store.publish(numbered(0.2))
    assert store.publish(numbered(0.1)) == first
    assert store.previous() == second


@pytest.mark.parametrize("pointer", ["", "missing", "../../etc", "."])
def test_a_pointer_to_nowhere_says_what_to_do(pointer: str) -> None:
    store.publish(numbered(0.1))
    (store.prices_folder() / "current").write_text(pointer)
    with pytest.raises(PricesError, match="run `advisor prices refresh` again"):
        store.refreshed()


def test_two_refreshes_at_once_are_one_and_an_error() -> None:
    folder = store.prices_folder()
    with (
        store.locked(folder),
        pytest.raises(PricesError, match="another refresh is running"),
        store.locked(folder),
    ):
        pass
    with store.locked(folder):
        pass


def test_the_lock_of_a_process_that_was_killed_holds_nobody_up(own_folders: Path) -> None:
    code = "from advisor.prices import store; import time\nwith store.locked(store.prices_folder()):\n print('held', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(PricesError, match="another refresh is running"),
            store.locked(store.prices_folder()),
        ):
            pass
        holder.kill()
    with store.locked(store.prices_folder()):
        pass


@pytest.mark.parametrize("moment", ["write", "fsync", "rename", "replace"])
def test_a_full_disk_leaves_the_last_good_prices_and_says_so(
    moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = store.publish(numbered(0.1))

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    where = {
        "write": (snapshot, "write"),
        "fsync": (os, "fsync"),
        "rename": (Path, "rename"),
        "replace": (Path, "replace"),
    }
    with monkeypatch.context() as patch:
        patch.setattr(*where[moment], full)
        with pytest.raises(PricesError, match=r"the disk is full.*the last good prices stay"):
            store.publish(numbered(0.2))
    assert current() == good
    assert held(good) == {0.1}
    assert leftovers(store.prices_folder() / "snapshots") == []
    store.publish(numbered(0.2))
    assert held(current()) == {0.2}


def test_a_file_that_outgrows_its_limit_in_the_middle_leaves_the_last_good_prices() -> None:
    resource = pytest.importorskip("resource", reason="no limit on the size of a file here")
    good = store.publish(numbered(0.1))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, before[1]))
        with pytest.raises(PricesError, match="cannot be written"):
            store.publish(numbered(0.2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert current() == good
    assert held(good) == {0.1}


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_that_may_not_be_written_is_one_line(own_folders: Path) -> None:
    own_folders.mkdir()
    own_folders.chmod(0o500)
    with pytest.raises(PricesError, match="cannot be written"), store.locked(store.prices_folder()):
        pass


def test_what_a_killed_refresh_left_behind_is_swept_away() -> None:
    store.publish(numbered(0.1))
    litter = store.prices_folder() / "snapshots" / ".writing-dead"
    litter.mkdir()
    (litter / "on_demand.csv").write_text("half")
    assert store.previous() is None
    store.publish(numbered(0.2))
    assert not litter.exists()


WRITER = """
import os, sys
from pathlib import Path
from tests.test_prices_store import PRICES, numbered
from advisor.prices import store
catalogues = [numbered(usd) for usd in PRICES]
into = Path(sys.argv[1]) if len(sys.argv) > 1 else None
print("ready", flush=True)
for _ in sys.stdin:
    child = os.fork()
    if child == 0:
        while True:
            for catalogue in catalogues:
                with store.locked(store.prices_folder()):
                    store.renew(catalogue, into) if into else store.publish(catalogue)
    print(child, flush=True)
    os.waitpid(child, 0)
    print("gone", flush=True)
"""


def killed(moments: int, write_s: float, *arguments: str) -> Iterator[int]:
    """Start a process that writes without end and kill it at a random moment, again and again; one write takes `write_s`."""
    rng = random.Random(20261129)
    root = Path(__file__).parents[1]
    with subprocess.Popen([sys.executable, "-c", WRITER, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) as writer:  # fmt: skip
        assert writer.stdin is not None
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        for moment in range(moments):
            writer.stdin.write("go\n")
            writer.stdin.flush()
            child = int(writer.stdout.readline())
            time.sleep(rng.uniform(0.0, 2.5 * write_s))
            os.kill(child, signal.SIGKILL)
            assert writer.stdout.readline() == "gone\n"
            yield moment
        writer.stdin.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_a_kill_at_thirty_random_moments_leaves_the_folder_whole_each_time() -> None:
    catalogues = [numbered(usd) for usd in PRICES]
    started = time.monotonic()
    for found in catalogues:
        store.publish(found)
    write_s = (time.monotonic() - started) / len(PRICES)
    seen, interrupted = set(), 0
    for _ in killed(30, write_s):
        folder = current()
        prices = held(folder)
        assert len(prices) == 1
        assert prices <= set(PRICES)
        assert store._fingerprint(folder) == folder.name
        seen |= prices
        interrupted += bool(leftovers(store.prices_folder() / "snapshots"))
    assert len(seen) > 1  # the writer did get on
    assert interrupted  # and was killed while it wrote
    store.publish(numbered(PRICES[1]))
    assert held(current()) == {PRICES[1]}
    assert leftovers(store.prices_folder()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_a_kill_while_a_committed_folder_is_renewed_leaves_every_file_whole(tmp_path: Path) -> None:
    into = tmp_path / "pricing_data"
    into.mkdir()
    whole: dict[str, set[bytes]] = {}
    started = time.monotonic()
    for usd in PRICES:
        store.renew(numbered(usd), into)
        for path in into.iterdir():
            whole.setdefault(path.name, set()).add(path.read_bytes())
    write_s = (time.monotonic() - started) / len(PRICES)
    for _ in killed(10, write_s, str(into)):
        for name, contents in whole.items():
            assert (into / name).read_bytes() in contents
    store.renew(numbered(PRICES[0]), into)
    assert held(into) == {PRICES[0]}


def test_renewing_a_folder_removes_a_price_file_that_is_empty_now(tmp_path: Path) -> None:
    store.renew(numbered(0.1), tmp_path)
    assert (tmp_path / "spot.csv").is_file()
    store.renew(catalogue(price("m5.large", 0.1)), tmp_path)
    assert not (tmp_path / "spot.csv").exists()
    assert leftovers(tmp_path) == []


def test_an_old_snapshot_is_never_half_removed_under_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    folders = [store.publish(numbered(usd)) for usd in PRICES[:2]]
    removed: list[str] = []
    monkeypatch.setattr(shutil, "rmtree", lambda path, **_: removed.append(Path(path).name))
    store.publish(numbered(PRICES[2]))
    assert removed[-1] == f".writing-{folders[0].name}"
    assert not folders[0].exists()
