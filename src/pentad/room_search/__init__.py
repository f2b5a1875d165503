"""One search over all rooms, behind the tool `search`, `GET /api/rooms/search`, `pentad search` and the console."""
