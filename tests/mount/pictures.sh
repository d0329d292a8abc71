#!/bin/sh
# The pictures of the README are what their scripts make.
. "$(dirname "$0")/functions.sh"
check "doc/read.svg is of its script" sh -c '"$PYTHON" "$top/doc/read_svg.py" | cmp - "$top/doc/read.svg"'
check "doc/shuffle.svg shows the order that the program has" sh -c '"$PYTHON" "$top/doc/shuffle_plot.py" "$FINEWEB" | cmp - "$top/doc/shuffle.svg"'
finish
