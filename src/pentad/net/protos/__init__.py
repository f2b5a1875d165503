"""The messages of gRPC's own services, generated from the .proto files."""
