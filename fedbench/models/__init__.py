"""The networks that the papers train, with parameters that make them narrower or shallower."""
