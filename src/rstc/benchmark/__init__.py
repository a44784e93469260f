"""The paper's experiments: data sets, methods, a store of runs, and the tables and figures made from it."""
