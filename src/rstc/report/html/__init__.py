"""The result as a page: one HTML file without external resources."""
