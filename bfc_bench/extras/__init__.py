"""Plugins that come with the framework. Each uses the hooks that other distributions have; nothing imports it."""
