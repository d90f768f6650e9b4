"""The papers' networks, one family per file, with parameters that narrow them."""
