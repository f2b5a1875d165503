"""One feed of what happens in all rooms: rooms write events in their own transactions, or show their own logs."""
