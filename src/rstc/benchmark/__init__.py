"""The paper's experiments: its sets, its methods, a store of runs, and the tables and figures made from it."""
