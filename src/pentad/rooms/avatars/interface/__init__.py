"""What callers see of the avatars: tools, resources, prompts and pages."""
