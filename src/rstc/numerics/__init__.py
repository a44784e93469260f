"""Algorithms on arrays: nearest neighbours and hierarchies."""
