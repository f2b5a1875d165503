"""Documents as text: one reader a format, all of them in a process with limits."""
