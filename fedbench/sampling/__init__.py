"""Samplers: the rules that draw which clients train in a round."""
