"""Self-adaptive optimal transport (SAOT): the problem, its solvers and its marginals."""
