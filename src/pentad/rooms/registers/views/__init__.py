"""Views: saved queries with columns, a URI and followers."""
