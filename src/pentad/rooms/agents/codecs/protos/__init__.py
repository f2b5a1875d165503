"""The messages of A2A over gRPC, generated from the `.proto` files by `make protos`."""
