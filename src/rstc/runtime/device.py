"""What a run computes on: the device, its cores, its precision and its random numbers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

from rstc.runtime.cores import granted_cores
from rstc.errors import InputError, first_line

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def use_granted_cores() -> None:
    """Let torch use no more threads than this process may run at a time.

    Torch counts the machine's cores; in a container that is granted fewer, the rest would wait for each other.
    """
    torch.set_num_threads(min(torch.get_num_threads(), granted_cores()))


_cores = threading.Lock()
Item = TypeVar("Item")
Result = TypeVar("Result")


def map_on_cores(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return what `work` makes of each item, computed by as many workers as torch has threads, each on one core.

    Many small products side by side are quicker than each of them spread over the cores, which wait for one another
    at every operation. The number of torch's threads is that of the whole process, so one caller at a time gets the
    workers, and the others work as if this were a loop.
    """
    threads = torch.get_num_threads()
    if threads == 1 or len(items) < 2 or not _cores.acquire(blocking=False):
        return [work(item) for item in items]
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as workers:
            return list(workers.map(work, items))
    finally:
        torch.set_num_threads(threads)
        _cores.release()


def choose_device(name: str = "auto") -> torch.device:
    """Return the named device, or for "auto" a GPU where there is one.

    >>> choose_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as problem:
        raise InputError(f"device={name!r} cannot be used here ({first_line(problem)})") from problem
    if device.type == "meta":
        raise InputError("device='meta' computes nothing; use cpu, cuda or mps")
    return device


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    """Return the named precision, or for "auto" bfloat16 where the device has arithmetic for it.

    Those are NVIDIA's GPUs from Ampere on, and CPUs with AMX or AVX-512 BF16. Everything else computes in float32, and
    float16 with its narrow range is never chosen, only taken when asked for.

    >>> choose_precision("float16", torch.device("cpu"))
    torch.float16
    """
    if name != "auto":
        return PRECISIONS[name]
    return torch.bfloat16 if _has_bfloat16(device) else torch.float32


def _has_bfloat16(device: torch.device) -> bool:
    """Tell whether bfloat16 is computed by the device itself and not imitated."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device)[0] >= 8
    if device.type == "cpu" and hasattr(torch.cpu, "get_capabilities"):
        can = torch.cpu.get_capabilities()
        return bool(can.get("amx_bf16") or can.get("avx512_bf16"))
    return False


@contextmanager
def seeded(device: torch.device, seed: int) -> Iterator[None]:
    """Seed torch's generators of the CPU and of the device, and give them back as they were."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.default_generator.manual_seed(seed)
        if device.type == "cuda":
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        before = torch.mps.get_rng_state() if device.type == "mps" else None
        if before is not None:
            torch.mps.manual_seed(seed)
        try:
            yield
        finally:
            if before is not None:
                torch.mps.set_rng_state(before)


def generator_states(device: torch.device) -> dict[str, torch.Tensor]:
    """Return where torch's generators of the CPU and of the device are."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    elif device.type == "mps":
        states["mps"] = torch.mps.get_rng_state()
    return states


def set_generator_states(states: Mapping[str, torch.Tensor], device: torch.device) -> None:
    """Let torch's generators go on from there."""
    torch.set_rng_state(states["cpu"])
    if "cuda" in states and device.type == "cuda":
        torch.cuda.set_rng_state(states["cuda"], device)
    elif "mps" in states and device.type == "mps":
        torch.mps.set_rng_state(states["mps"])
