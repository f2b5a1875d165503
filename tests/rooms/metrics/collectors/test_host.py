"""Figures of this machine."""

import os
import time
from typing import Any

import psutil
import pytest

from pentad.kernel.clock import SystemClock
from pentad.rooms.metrics.collectors.host import CATALOGUE, Host
from pentad.rooms.metrics.engine.query_engine import Answer, build_query
from tests.rooms.metrics.toys import engine_of


async def measured(**more: Any) -> Answer:
    return await engine_of(Host()).answer("host", build_query(Host().info(), SystemClock(), **more))


@pytest.mark.anyio
@pytest.mark.requirement("metrics:collectors:built-in")
async def test_real_figures_come_without_any_settings():
    answer = await measured()
    tree = answer.snapshot.tree
    assert tree["memory"]["total"] == psutil.virtual_memory().total
    assert 0 <= tree["cpu"]["percent"] <= 100
    assert tree["cpu"]["cores"] == os.cpu_count()
    assert tree["processes"]["total"] >= 1
    assert tree["system"]["uptime"] == pytest.approx(time.time() - psutil.boot_time(), abs=60)
    assert any(disk["total"] > 0 and 0 <= disk["percent"] <= 100 for disk in tree["disks"])
    assert answer.snapshot.coverage.failed == 0


@pytest.mark.anyio
async def test_every_sample_is_in_the_catalogue_with_its_unit():
    units = {metric.key: metric.unit for metric in CATALOGUE}
    samples = (await measured()).snapshot.samples
    assert {sample.key for sample in samples} <= units.keys()
    assert all(sample.unit == units[sample.key] for sample in samples)
    assert all(sample.state == "ok" for sample in samples)


@pytest.mark.anyio
async def test_one_key_reads_one_part():
    answer = await measured(keys="memory.percent")
    assert [fact.name for fact in answer.facts] == ["host.memory"]


@pytest.mark.anyio
async def test_work_shows_in_the_share_of_the_processor():
    """Two looks with nothing but work between them: some of it is seen, whoever else is busy here."""
    await measured(keys="cpu")
    until = time.process_time() + 0.15
    while time.process_time() < until:
        pass
    answer = await measured(keys="cpu")
    assert answer.snapshot.tree["cpu"]["percent"] > 0


@pytest.mark.anyio
@pytest.mark.parametrize(("trouble", "state"), [
    (psutil.AccessDenied(), "no_permission"), (PermissionError(), "no_permission"),
    (FileNotFoundError(), "unsupported"),
])  # fmt: skip
@pytest.mark.requirement("metrics:engine:states")
async def test_what_may_not_be_read_has_no_value_and_a_reason_and_the_rest_is_there(
    trouble: Exception, state: str, monkeypatch: pytest.MonkeyPatch
):
    def refused() -> None:
        raise trouble

    monkeypatch.setattr(psutil, "virtual_memory", refused)
    answer = await measured()
    snapshot = answer.snapshot
    assert (snapshot.coverage.failed, snapshot.coverage.ok) == (1, 8)
    memory = {sample.key: (sample.value, sample.state) for sample in snapshot.samples if "memory." in sample.key}
    assert memory == {f"memory.{name}": (None, state) for name in ("total", "available", "used", "percent")}
    assert "memory" not in snapshot.tree
    assert snapshot.tree["cpu"]["cores"] == os.cpu_count()
    (problem,) = snapshot.problems
    assert (problem.call, "memory.percent" in problem.affects) == ("read memory", True)


@pytest.mark.anyio
@pytest.mark.requirement("metrics:engine:states")
async def test_without_any_processor_time_there_is_no_share_of_it(monkeypatch: pytest.MonkeyPatch):
    times = psutil.cpu_times()
    monkeypatch.setattr(psutil, "cpu_times", lambda: times)
    await measured(keys="cpu.percent")
    samples = (await measured(keys="cpu.percent")).snapshot.samples
    assert [(one.value, one.state) for one in samples if one.key == "cpu.percent"] == [(None, "not_collected")]
