"""What the verbs of the core and of the rooms share: options, output, progress, and the client they talk through."""
