"""How figures are drawn: panels, styles, legends, the page they stand on."""
