"""The ways into the room."""
