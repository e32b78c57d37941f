"""The colours of all figures: those of Okabe and Ito, which colour-blind readers tell apart, and greys."""

BLUE = "#0072b2"
SKY = "#56b4e9"
GREEN = "#009e73"
VERMILION = "#d55e00"
ORANGE = "#e69f00"
PINK = "#cc79a7"
# Not of the eight, for the ninth of a kind.
BROWN = "#8c510a"
BLACK = "#000000"
GREY = "#999999"
PALE = "#a6a6a6"
