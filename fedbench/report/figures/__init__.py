"""How figures are drawn: what they show, panels, layout, styles, legends, files."""
