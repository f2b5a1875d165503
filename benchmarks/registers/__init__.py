"""The registers room beside servers that keep JSON objects too."""
