"""The rows of `make trust-report`, a module for each part."""
