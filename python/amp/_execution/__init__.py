"""What executors consist of: runs, where parameters came from, copies."""
