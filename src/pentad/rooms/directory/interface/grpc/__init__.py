"""The directory's gRPC server, compatible with AGNTCY directory clients."""
