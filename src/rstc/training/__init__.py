"""Training: where the pseudo-labels and the representation, the paper's two modules, meet."""
