"""Suite files: their contents, how they are found, and changes to them."""
