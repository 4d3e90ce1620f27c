#!/usr/bin/env bash
# Checks the statement coverage of some packages: cover.sh PROFILE FLOOR PACKAGE...
# A package is named below internal/ and includes those below it. The profile
# holds a block once per test binary; it counts as covered if any reached it.
set -euo pipefail
profile=$1 floor=$2
shift 2
awk -v floor="$floor" -v names="$*" '
	BEGIN { n = split(names, pkg, " ") }
	FNR == 1 { next }                      # mode:
	{ size[$1] = $2; if ($3 > 0) hit[$1] = 1 }
	END {
		for (block in size) {
			file = block; sub(/:[^:]*$/, "", file)
			for (i = 1; i <= n; i++) {
				if (index(file, "/internal/" pkg[i] "/")) {
					all[i] += size[block]
					if (block in hit) reached[i] += size[block]
				}
			}
		}
		for (i = 1; i <= n; i++) {
			percent = all[i] ? 100 * reached[i] / all[i] : 0
			low = percent < floor
			printf "coverage %-24s %5.1f %% of %d statements%s\n", pkg[i], percent, all[i], low ? ", at least " floor " % are wanted" : ""
			bad += low
		}
		exit bad > 0
	}
' "$profile"
