#!/usr/bin/env bash
# debian.sh WHY PROGRAM[|PROGRAM…]:PACKAGE[,PACKAGE…]...: installs the Debian packages of the programs
# that are missing, if we are root. Without root it only says so, and fails in CI (or with INSTALL=1),
# where no test may be skipped. One call at a time installs, the next one waits for it.
set -eu
export PATH=$PATH:/usr/sbin
why=$1
shift
exec 9<"$0"
flock 9
missing=() packages=()
for entry in "$@"; do
  IFS='|' read -ra programs <<<"${entry%%:*}"
  if ! command -v "${programs[@]}" >/dev/null; then
    missing+=("${programs[0]}")
    IFS=, read -ra more <<<"${entry#*:}"
    packages+=("${more[@]}")
  fi
done
if [ ${#missing[@]} = 0 ]; then
  exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing ${packages[*]} (Debian packages) for $why"
  apt-get update -qq 9<&- # a server that apt-get starts must not keep the lock
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null 9<&-
elif [ -n "${CI:-}${INSTALL:-}" ]; then
  echo "${missing[*]}: missing, and can't be installed here"
  exit 1
else
  echo "${missing[*]}: can't be installed here, so $why will be SKIPPED"
fi
