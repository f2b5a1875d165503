"""What callers reach of the directory: tools, resources, prompts, pages, routes, verbs, the demo and gRPC."""
