"""What names clusters: prompts, answers, commands, chat servers and the cache of their answers."""
