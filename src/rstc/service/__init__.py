"""A model as a service: predictions over HTTP for programs, and runs as tools for agents (MCP)."""
