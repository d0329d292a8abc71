#!/bin/sh
# What an epoch says, against the reference of the order: recorded listings always, and ten thousand random sets of
# parameters where ../shared is there. tests/data/order/reference.txt was made by order_reference.py record.
top=${srcdir:-.}
print=${ORDER_PRINT:-tests/unit/order_print}
reference=${FINEWEB_SHARED:-$top/../shared}/oracle/order.py
recorded=$top/tests/data/order/reference.txt
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

echo 1..2
cut -d' ' -f1 "$recorded" >"$work/want"
cut -d' ' -f2- "$recorded" | "$print" -s >"$work/got"
if cmp "$work/want" "$work/got" >"$work/differs" 2>&1; then
	echo "ok 1 - $(wc -l <"$work/want") recorded sets of parameters"
else
	sed 's/^/# /' "$work/differs"
	echo "not ok 1 - recorded sets of parameters"
fi

if ! command -v python3 >/dev/null; then
	echo "ok 2 - ten thousand random sets of parameters # SKIP no python3"
elif [ ! -r "$reference" ]; then
	echo "ok 2 - ten thousand random sets of parameters # SKIP no order.py"
elif python3 "$top/tests/unit/order_reference.py" check "$reference" "$print" 10000; then
	echo "ok 2 - ten thousand random sets of parameters"
else
	echo "not ok 2 - ten thousand random sets of parameters"
fi
