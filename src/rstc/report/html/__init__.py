"""The result as a page: one HTML file that needs nothing from outside."""
