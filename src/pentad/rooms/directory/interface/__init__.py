"""The directory's interfaces: tools, resources, prompts, pages, routes, commands, the demo and gRPC."""
