"""What a person sees of a run: the clusters described, the run folder, the pages and figures."""
