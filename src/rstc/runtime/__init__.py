"""The machine and the process: device, cores, memory, signals, progress, process groups."""
