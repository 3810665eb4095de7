"""What conversions are made of: `calls` checks arguments and calls the extension; the others look at parameters."""
