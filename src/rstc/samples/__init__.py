"""The bundled sample: customer messages with a `topic` column that only `evaluate` reads."""
