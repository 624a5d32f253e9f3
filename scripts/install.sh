#!/bin/sh
# Installs PROGRAM below PREFIX: with a link that makes it a plugin of kubectl, man pages, and completion for bash, zsh and
# fish. OPM prints the completion: it is PROGRAM itself or, if that is for another platform, the same version for this one.
#
#	scripts/install.sh PROGRAM OPM PREFIX
set -eu
program=$1
opm=$2
prefix=$3
share=$prefix/share

install -d "$prefix/bin" "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" \
	"$share/fish/vendor_completions.d"
install -m 755 "$program" "$prefix/bin/opm"
ln -sf opm "$prefix/bin/kubectl-opm"
for page in docs/man/*.1; do
	gzip -9nc "$page" >"$share/man/man1/${page##*/}.gz"
done
"$opm" completion bash >"$share/bash-completion/completions/opm"
"$opm" completion zsh >"$share/zsh/site-functions/_opm"
"$opm" completion fish >"$share/fish/vendor_completions.d/opm.fish"
chmod 644 "$share"/man/man1/opm*.1.gz "$share/bash-completion/completions/opm" "$share/zsh/site-functions/_opm" \
	"$share/fish/vendor_completions.d/opm.fish"
