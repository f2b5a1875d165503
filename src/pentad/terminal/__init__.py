"""Code shared by the verbs of the core and of the rooms: options, output, progress, and the client."""
