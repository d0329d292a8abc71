# bash completion for fineweb(1). The words are the program's own: those of `fineweb --help`.

# Options as "name values" lines, or the subcommands.
__fineweb_options() {
	"$1" --help 2>/dev/null | awk '
		/^  [a-z][a-z_]* / { name = $1; next }
		name != "" && /; default / { sub(/; default .*/, ""); sub(/^ */, ""); print name, $0; name = "" }'
}

__fineweb_subcommands() {
	"$1" --help 2>/dev/null | sed -n 's/^  fineweb \([a-z]*\) .*/\1/p'
}

# The last option of a list separated by commas: its name, or the words that it takes.
__fineweb_option_list() {
	local done= word=$2 name values
	case $word in *,*) done=${word%,*}, word=${word##*,} ;; esac
	case $word in
	*=*)
		name=${word%%=*}
		values=$(__fineweb_options "$1" | sed -n "s/^$name //p")
		case $values in
		*" "* | "") ;;
		*'|'*) mapfile -t COMPREPLY < <(compgen -P "$done$name=" -W "${values//|/ }" -- "${word#*=}") ;;
		file | folder) mapfile -t COMPREPLY < <(compgen -P "$done$name=" -f -- "${word#*=}") ;;
		esac
		;;
	*)
		compopt -o nospace
		mapfile -t COMPREPLY < <(compgen -P "$done" -S = -W "$(__fineweb_options "$1" | cut -d ' ' -f 1)" -- "$word")
		;;
	esac
}

_fineweb() {
	local program=$1 word=${COMP_WORDS[COMP_CWORD]} line=${COMP_LINE:0:COMP_POINT}
	# readline has split the words at "=" and ":" as well.
	local whole=${line##*[[:space:]]} before=${line%"${line##*[[:space:]]}"}
	COMPREPLY=()
	case $before in
	*-o[[:space:]]*)
		if [[ $before =~ -o[[:space:]]+$ ]]; then
			__fineweb_option_list "$program" "$whole"
			# What stands before the last break of words is not completed again.
			local keep=${whole%"$word"}
			[ "$word" != = ] || keep=$whole
			COMPREPLY=("${COMPREPLY[@]#"$keep"}")
			return
		fi
		;;
	esac
	case $word in
	-*)
		mapfile -t COMPREPLY < <(compgen -W "$("$program" $([ "$COMP_CWORD" -gt 1 ] && echo "${COMP_WORDS[1]}") --help 2>/dev/null |
			grep -oE -e '(^|[ ,[|])--?[a-z][a-z-]*' | tr -d ' ,[|' | sort -u)" -- "$word")
		;;
	*)
		compopt -o filenames
		mapfile -t COMPREPLY < <({ [ "$COMP_CWORD" -gt 1 ] || compgen -W "$(__fineweb_subcommands "$program")" -- "$word"
			compgen -f -- "$word"; })
		;;
	esac
}
complete -F _fineweb fineweb
