"""Adapters for other projects' interfaces."""
