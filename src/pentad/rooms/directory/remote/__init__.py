"""The client for another directory over gRPC: connection, authentication and calls."""
