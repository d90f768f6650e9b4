"""What watches a run while it trains, one measurement per file."""
