"""The console: web pages for people."""
