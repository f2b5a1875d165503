"""What callers reach of the directory: tools, resources, prompts, pages, HTTP routes, the demo and gRPC."""
