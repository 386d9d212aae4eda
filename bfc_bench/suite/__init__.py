"""Suite files: what they say, and changes to them."""
