"""The bundled sample: customer messages, with columns that clustering does not read.

Only `evaluate` reads `topic`. The columns `date` and `channel` are invented (`tools/make_sample_columns.py`), for
comparisons over time and between groups; they say nothing about real messages.
"""
