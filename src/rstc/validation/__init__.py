"""Validation of user input, once on entry: texts, the number of clusters, partial labels."""
