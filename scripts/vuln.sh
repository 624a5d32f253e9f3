#!/bin/sh
# Fails if the program calls code with a known vulnerability. Where the database cannot be had, or does not answer in
# time, it says so and passes. GOVULNDB names another database than https://vuln.go.dev, such as file:///DIRECTORY.
set -eu

seconds=300 # govulncheck itself would wait for ever
limit=
if command -v timeout >/dev/null; then
	limit="timeout $seconds"
fi

code=0
# shellcheck disable=SC2086 # a command and its argument, or nothing
out=$($limit go tool -modfile=tools/go.mod govulncheck -db "${GOVULNDB:-https://vuln.go.dev}" ./... 2>&1) || code=$?
case $code,$out in
0,*) echo "$out" | tail -n 1 ;;
124,*) echo "vuln: NOT CHECKED, govulncheck did not end within $seconds s" ;;
*,*'govulncheck: fetching vulnerabilities:'*)
	echo "vuln: NOT CHECKED, the database cannot be had: ${out##*fetching vulnerabilities: }"
	;;
*)
	echo "$out"
	exit 1
	;;
esac
