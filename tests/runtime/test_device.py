"""Which device and which precision a run takes."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import torch

from rstc.runtime import cores
from rstc.errors import InputError
from rstc.runtime.device import choose_device, choose_precision, map_on_cores, use_granted_cores

CPU = torch.device("cpu")


def test_without_a_gpu_the_cpu_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_device("auto") == CPU


def test_a_gpu_is_taken_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert choose_device("auto") == torch.device("mps")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto") == torch.device("cuda")


@pytest.mark.parametrize("name", ["gpu", "cuda:99", "meta", ""])
def test_a_device_that_is_not_there_is_said_so(name: str) -> None:
    with pytest.raises(InputError, match=f"device='{name}'"):
        choose_device(name)


@pytest.mark.parametrize(
    ("can", "chosen"),
    [
        ({"avx2": True, "avx512_f": True}, torch.float32),  # a plain CPU, where bfloat16 would be imitated
        ({"avx512_bf16": True}, torch.bfloat16),
        ({"amx_bf16": True}, torch.bfloat16),
    ],
)
def test_a_cpu_computes_in_bfloat16_only_if_it_has_the_units(
    can: dict[str, bool], chosen: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: can, raising=False)
    assert choose_precision("auto", CPU) == chosen
    assert choose_precision("float32", CPU) == torch.float32


@pytest.mark.parametrize(("capability", "chosen"), [((7, 5), torch.float32), ((8, 0), torch.bfloat16)])
def test_an_nvidia_gpu_computes_in_bfloat16_from_ampere_on(
    capability: tuple[int, int], chosen: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert choose_precision("auto", torch.device("cuda")) == chosen


@pytest.mark.parametrize(("quota", "threads"), [("150000 100000", 2), ("100000 100000", 1), ("20000 100000", 1)])
def test_a_container_that_is_granted_few_cores_gets_few_threads(
    quota: str, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpu.max").write_text(quota)
    monkeypatch.setattr(cores, "CPU_QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    taken: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", taken.append)
    use_granted_cores()
    assert taken == [threads]


def test_without_a_limit_the_threads_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpu.max").write_text("max 100000")
    before = torch.get_num_threads()
    monkeypatch.setattr(cores, "CPU_QUOTA", tmp_path / "cpu.max")
    use_granted_cores()
    assert torch.get_num_threads() == before


def test_workers_keep_the_order_and_leave_torchs_threads_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        seen = set()

        def work(item: int) -> int:
            seen.add((threading.get_ident() == threading.main_thread().ident, torch.get_num_threads()))
            return item * item

        assert map_on_cores(work, range(50)) == [item * item for item in range(50)]
        assert seen == {(False, 1)}
        assert torch.get_num_threads() == 2
        with pytest.raises(ZeroDivisionError):
            map_on_cores(lambda item: 1 // item, [1, 0, 2])
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_who_comes_while_the_cores_are_taken_works_alone() -> None:
    def outer(item: int) -> list[int]:
        return map_on_cores(lambda inner: item * inner, [1, 2, 3])

    assert map_on_cores(outer, [1, 10]) == [[1, 2, 3], [10, 20, 30]]
