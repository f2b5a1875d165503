"""Files attached to objects: content, extracted text and upload links."""
