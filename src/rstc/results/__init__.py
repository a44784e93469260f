"""Results of a run: descriptions of clusters, their map, the summary, corrections, and the run folder."""
