"""The task engine: a task is the fold of its events, and every event is in the log before anyone sees it."""
