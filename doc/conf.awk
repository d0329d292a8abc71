# Makes fineweb.conf of what `fineweb --help` says: fineweb --help | awk -f doc/conf.awk >doc/fineweb.conf
BEGIN {
	print "# /etc/fineweb.conf: options of all mounts of fineweb(1), a line each: key = value."
	print "# The environment (FINEWEB_BATCH_SIZE=64) and the command line win over this file. The values here are the defaults."
}
/^  [a-z][a-z_]* / {
	name = $1
	sub(/^ *[a-z_]* */, "")
	help = $0
	next
}
name != "" && match($0, /; default /) {
	values = substr($0, 1, RSTART - 1)
	sub(/^ */, "", values)
	value = substr($0, RSTART + RLENGTH)
	if (name != "config") {
		print "\n# " help
		plain = value != "none" && value !~ / /
		print "# " values (plain ? "" : "; default: " value)
		print "#" name " =" (plain ? " " value : "")
	}
	name = ""
}
