"""The wire format of the gRPC API, shared by server and client: messages, Structs and status codes."""
