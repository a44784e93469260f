"""Augmenters: functions (texts, rng) -> texts that return a changed version of each text, in order and never empty."""
