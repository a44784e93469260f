"""Presentation of results: data frames, figures and the HTML page."""
