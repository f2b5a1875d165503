"""Files attached to objects: their content, their text, and links to upload them."""
