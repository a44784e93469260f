"""Files in and out: readers, writers, atomic replacement, remote addresses, batches of data engines."""
