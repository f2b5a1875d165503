"""One search across all rooms, behind the tool `search`, `GET /api/rooms/search`, `pentad search` and the console."""
