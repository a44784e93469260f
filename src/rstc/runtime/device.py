"""The device of a run, its precision, torch's threads and random number generators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch

from rstc.errors import InputError, first_line
from rstc.runtime.cores import available_cores

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def limit_torch_threads() -> None:
    """Limit torch's threads to the cores that this process may use.

    Torch counts the cores of the machine; in a container with fewer cores, its threads would wait for each other.
    """
    torch.set_num_threads(min(torch.get_num_threads(), available_cores()))


def choose_device(name: str = "auto") -> torch.device:
    """Return a device.

    Parameters
    ----------
    name : str, default="auto"
        Name of a torch device, or "auto" for a GPU if available, else the CPU.

    Raises
    ------
    InputError
        If the device does not exist or cannot be used.

    Examples
    --------
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
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise InputError(f"device={name!r} is not available ({first_line(error)})") from error
    if device.type == "meta":
        raise InputError("device='meta' cannot compute; use cpu, cuda or mps")
    return device


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    """Return the floating point type of the encoder.

    Parameters
    ----------
    name : str
        A key of `PRECISIONS`, or "auto" for bfloat16 if the device supports it natively (NVIDIA GPUs since Ampere, CPUs
        with AMX or AVX-512 BF16), else float32.
    device : torch.device
        The device.

    Examples
    --------
    >>> choose_precision("float16", torch.device("cpu"))
    torch.float16
    """
    if name != "auto":
        return PRECISIONS[name]
    return torch.bfloat16 if _has_bfloat16(device) else torch.float32


def _has_bfloat16(device: torch.device) -> bool:
    """Return whether a device computes bfloat16 natively instead of emulating it."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device)[0] >= 8
    if device.type == "cpu" and hasattr(torch.cpu, "get_capabilities"):
        capabilities = torch.cpu.get_capabilities()
        return bool(capabilities.get("amx_bf16") or capabilities.get("avx512_bf16"))
    return False


@contextmanager
def fork_rng(device: torch.device, seed: int) -> Iterator[None]:
    """Seed torch's generators of the CPU and of a device inside the block, and restore them afterwards.

    Parameters
    ----------
    device : torch.device
        Device whose generator is seeded, in addition to that of the CPU.
    seed : int
        The seed.
    """
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.default_generator.manual_seed(seed)
        if device.type == "cuda":
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        mps_state = torch.mps.get_rng_state() if device.type == "mps" else None
        if mps_state is not None:
            torch.mps.manual_seed(seed)
        try:
            yield
        finally:
            if mps_state is not None:
                torch.mps.set_rng_state(mps_state)


def get_rng_states(device: torch.device) -> dict[str, torch.Tensor]:
    """Return the states of torch's generators of the CPU and of a device, by the type of device."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    elif device.type == "mps":
        states["mps"] = torch.mps.get_rng_state()
    return states


def set_rng_states(states: Mapping[str, torch.Tensor], device: torch.device) -> None:
    """Restore states that `get_rng_states` returned; those of another type of device are ignored."""
    torch.set_rng_state(states["cpu"])
    if "cuda" in states and device.type == "cuda":
        torch.cuda.set_rng_state(states["cuda"], device)
    elif "mps" in states and device.type == "mps":
        torch.mps.set_rng_state(states["mps"])
