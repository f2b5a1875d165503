"""The directory over gRPC: its server, and its client for a directory elsewhere."""
