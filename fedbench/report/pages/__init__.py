"""The HTML pages: what is shown on them, and the templates filled with it."""
