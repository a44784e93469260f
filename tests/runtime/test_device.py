"""The device, the precision and the threads of a run."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from rstc.errors import InputError
from rstc.runtime import cores
from rstc.runtime.device import (
    choose_device,
    choose_precision,
    fork_rng,
    get_rng_states,
    limit_torch_threads,
    set_rng_states,
)

CPU = torch.device("cpu")


def test_auto_is_the_cpu_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_device("auto") == CPU


def test_auto_is_a_gpu_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert choose_device("auto") == torch.device("mps")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto") == torch.device("cuda")


@pytest.mark.parametrize("name", ["gpu", "cuda:99", "meta", ""])
def test_error_of_an_unusable_device_names_it(name: str) -> None:
    with pytest.raises(InputError, match=f"device='{name}'"):
        choose_device(name)


@pytest.mark.parametrize(
    ("capabilities", "chosen"),
    [
        ({"avx2": True, "avx512_f": True}, torch.float32),  # without instructions for bfloat16
        ({"avx512_bf16": True}, torch.bfloat16),
        ({"amx_bf16": True}, torch.bfloat16),
    ],
)
def test_cpu_precision_is_bfloat16_only_with_instructions_for_it(
    capabilities: dict[str, bool], chosen: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    assert choose_precision("auto", CPU) == chosen
    assert choose_precision("float32", CPU) == torch.float32


@pytest.mark.parametrize(("capability", "chosen"), [((7, 5), torch.float32), ((8, 0), torch.bfloat16)])
def test_nvidia_precision_is_bfloat16_from_ampere_on(
    capability: tuple[int, int], chosen: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert choose_precision("auto", torch.device("cuda")) == chosen


@pytest.mark.parametrize(("quota", "threads"), [("150000 100000", 2), ("100000 100000", 1), ("20000 100000", 1)])
def test_torch_threads_are_limited_by_the_quota_of_the_container(
    quota: str, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpu.max").write_text(quota)
    monkeypatch.setattr(cores, "CPU_QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    calls: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", calls.append)
    limit_torch_threads()
    assert calls == [threads]


def test_torch_threads_stay_without_a_quota(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpu.max").write_text("max 100000")
    before = torch.get_num_threads()
    monkeypatch.setattr(cores, "CPU_QUOTA", tmp_path / "cpu.max")
    limit_torch_threads()
    assert torch.get_num_threads() == before


def test_fork_rng_seeds_the_block_and_restores_the_generator() -> None:
    before = torch.get_rng_state()
    draws = []
    for _ in range(2):
        with fork_rng(CPU, 7):
            draws.append(torch.rand(3).tolist())
    assert draws[0] == draws[1]
    assert torch.equal(torch.get_rng_state(), before)


def test_generators_continue_from_restored_states() -> None:
    with fork_rng(CPU, 7):
        states = get_rng_states(CPU)
        expected = torch.rand(3).tolist()
        set_rng_states(states, CPU)
        assert torch.rand(3).tolist() == expected
