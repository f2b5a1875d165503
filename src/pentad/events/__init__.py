"""One feed of events in all rooms: rooms write events in their own transactions, or expose their own logs."""
