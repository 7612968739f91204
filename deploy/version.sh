#!/usr/bin/env bash
# Prints the version of what is built from this clone: the number in internal/cli/version.txt. The
# commit stands behind it if the clone has changes, or if the tag of the number names another commit,
# because then the number belongs to other bytes. No tag is needed.
set -euo pipefail
cd "$(dirname "$0")/.."
number=$(<internal/cli/version.txt)
commit=$(git rev-parse --short=12 HEAD)
tagged=$(git rev-parse --quiet --verify "v$number^{commit}" || true)
if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
  echo "$number+$commit.dirty"
elif [ -n "$tagged" ] && [ "$tagged" != "$(git rev-parse HEAD)" ]; then
  echo "$number+$commit"
else
  echo "$number"
fi
