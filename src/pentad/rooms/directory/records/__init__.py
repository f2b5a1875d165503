"""Agent records, stored under the hash of their content, with names, referrers, events, routing and syncs."""
