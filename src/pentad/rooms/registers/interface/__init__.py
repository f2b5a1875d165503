"""The room's interfaces: tools, resources, REST, console and command line."""
