"""Plugins: what they register, how they are found, and how a fault of one is kept from the others."""
