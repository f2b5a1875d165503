"""Shared by all tests: one event loop implementation, the stores, and the number of examples per property."""

import asyncio
import gc
import inspect
import signal
import time
from collections.abc import Generator, Iterator
from functools import cache, partial, wraps
from typing import Any

import hypothesis
import pytest

from pentad.access import passwords
from pentad.storage import migrations
from tests.document_readers import readers_are_processes, readers_are_threads
from tests.new_stores import apps_start_on_copies, sqlite_is_not_synced, sqlite_is_synced
from tests.pulled import pulled_model
from tests.selection import FEW, IS_LONG, SAME, is_left_to_interop
from tests.stores import database_url, postgres_server, store, stores

__all__ = [
    "apps_start_on_copies",
    "database_url",
    "postgres_server",
    "pulled_model",
    "readers_are_processes",
    "readers_are_threads",
    "sqlite_is_not_synced",
    "sqlite_is_synced",
    "store",
    "stores",
]

TOOL_LIST_SIZES = "tool list sizes"
"""The property of a test report with a revision and the size of each endpoint's list in it."""

STARTED = pytest.StashKey[float]()
"""When a test's fixtures started."""

LOADED = [hypothesis.HealthCheck.too_slow]
"""Generating examples is slow on a busy machine; that says nothing about a test."""
profile = partial(hypothesis.settings.register_profile, deadline=None, derandomize=SAME, suppress_health_check=LOADED)
profile("short", max_examples=FEW)
profile("long", max_examples=300)
hypothesis.settings.load_profile("long" if IS_LONG else "short")


def pytest_configure() -> None:
    """A shell that runs the tests in the background makes them ignore Ctrl-C, and their children would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Importing the tests creates no garbage, and the collector would often search all of it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Modules and collected tests live to the end: a garbage collection that scans them costs a tenth of the run."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave to `make interop` the tests that `tests/selection.py` names."""
    tried: Any = getattr(item, "obj", None)
    asked = getattr(tried, "_hypothesis_internal_use_settings", None)
    if asked is not None:
        tried._hypothesis_internal_use_settings = hypothesis.settings(
            asked,
            max_examples=asked.max_examples if IS_LONG else min(asked.max_examples, FEW),
            suppress_health_check=[*asked.suppress_health_check, *LOADED],
        )
    called: Any = getattr(item, "callspec", None)
    if called is not None and is_left_to_interop(item.path, called.params.values()):
        item.add_marker("interop")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[STARTED] = time.monotonic()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """End an asynchronous test where it hangs, a little before the general time limit interrupts the
    event loop: after that its fixtures could not close and would hang too."""
    mark = pyfuncitem.get_closest_marker("timeout")
    tried, limit = pyfuncitem.obj, float(mark.args[0] if mark else pyfuncitem.config.getini("timeout") or 0)
    if not limit or not inspect.iscoroutinefunction(tried):
        return (yield)
    left = 0.9 * limit - (time.monotonic() - pyfuncitem.stash[STARTED])

    @wraps(tried)
    async def bounded(**given: object) -> None:
        async with asyncio.timeout(left):
            await tried(**given)

    pyfuncitem.obj = bounded
    try:
        return (yield)
    finally:
        pyfuncitem.obj = tried


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the sizes of the tool lists at the end of every run that measured them (`rooms/test_tool_lists.py`)."""
    reports = [one for outcome in ("passed", "failed") for one in terminalreporter.getreports(outcome)]
    sizes = dict(value for one in reports for name, value in one.user_properties if name == TOOL_LIST_SIZES)
    if not sizes:
        return
    revisions = sorted(sizes)
    terminalreporter.section("tools/list in tokens (bytes / 4), by endpoint and revision")
    terminalreporter.line(f"{'':24}" + "".join(f"{revision:>12}" for revision in revisions))
    for path in sizes[revisions[0]]:
        terminalreporter.line(f"{path:24}" + "".join(f"{sizes[revision][path]:12,.0f}" for revision in revisions))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def cheap_hashes() -> Iterator[None]:
    """Hash passwords as usual, but at a cost that thousands of tests can pay. Child processes pay the full cost."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "HashCost", partial(passwords.HashCost, memory_kib=64, passes=1))
        yield


@pytest.fixture(scope="session", autouse=True)
def migrations_split_once() -> Iterator[None]:
    """Thousands of tests create a store; each would split the same files into statements."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrations, "split_statements", cache(migrations.split_statements))
        yield
