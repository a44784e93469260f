"""Complete tasks from input to output: cluster, update, predict, augment, score, apply edits, name clusters, serve."""
