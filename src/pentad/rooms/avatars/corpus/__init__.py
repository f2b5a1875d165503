"""From files to passages: file discovery, extraction, chunks, and the ingest that stores them."""
