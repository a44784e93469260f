"""Module (a) of the paper: from predictions to reliable pseudo-labels."""
