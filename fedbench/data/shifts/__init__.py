"""Shifts: what makes clients' data differ beyond which samples they hold."""
