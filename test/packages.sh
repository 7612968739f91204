#!/usr/bin/env bash
# packages.sh race: lists the packages of the program that make test runs under the race detector.
# packages.sh plain: lists the others, in which neither code nor tests start a goroutine.
set -eu
cd "$(dirname "$0")/.."
starts='(^|[^[:alnum:]/])go (func|[[:alpha:]_.]+\()|\.Go\(|Parallel\(|httptest|Serve\(|AfterFunc|synctest|errgroup'
all=$(go list -f '{{.Dir}}' ./... | sed "s,^$PWD,.," | grep -vE '^\./(cmd|test)/' | sort)
race=$(git grep -lE "$starts" -- '*.go' | xargs dirname | sed 's,^,./,' | sort -u)
case $1 in
  race) comm -12 <(echo "$all") <(echo "$race") ;;
  plain) comm -23 <(echo "$all") <(echo "$race") ;;
esac
