"""Views: saved queries with columns, an address and followers."""
