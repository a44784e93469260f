"""Module (b) of the paper: from texts and pseudo-labels to a robust representation."""
