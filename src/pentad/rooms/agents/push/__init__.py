"""Push notifications: where to, and the deliveries that are due."""
