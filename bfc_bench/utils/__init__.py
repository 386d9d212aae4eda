"""Helpers without dependencies: files, plain JSON, credentials, control characters, hook markers."""
