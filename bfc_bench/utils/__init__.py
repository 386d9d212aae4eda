"""Small helpers without a place of their own: files, plain JSON, credentials, control characters, processes."""
