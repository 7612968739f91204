#!/usr/bin/env bash
# Builds the files of a release into dist/: archives for Linux and macOS, packages for Debian and Red Hat,
# a bill of materials, and checksums, which it signs if KEY names an SSH key (deploy/sign.sh). The same
# commit and version give the same bytes. VERSION is 1.2.3 or v1.2.3; without it, deploy/version.sh has it.
# TARGETS=linux/amd64 builds less, to try the script.
#
#     KEY=~/.ssh/release deploy/dist.sh
set -euo pipefail
cd "$(dirname "$0")/.."
: "${VERSION:=$(deploy/version.sh)}"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)

number=${VERSION#v}
if [[ ! $number =~ ^[0-9]+\.[0-9]+\.[0-9]+ ]]; then
  echo "VERSION must be like 1.2.3, not $VERSION" >&2 # dpkg and rpm take no other
  exit 2
fi
export VERSION=$number PACKAGE_VERSION=$number SOURCE_DATE_EPOCH CGO_ENABLED=0 GOFLAGS=-trimpath

rm -rf dist && mkdir -p dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

archive() { # of a folder in $work
  tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode='u=rwX,go=rX' -cf - "$1" | gzip -n -9 >"dist/$1.tar.gz"
}

go build -ldflags "-s -w -X main.version=$VERSION" -o "$work/native" ./cmd/iconedge
mkdir -p "$work/words"
for shell in bash zsh fish; do "$work/native" completion $shell >"$work/words/iconedge.$shell"; done
"$work/native" man >"$work/words/iconedge.1"

for target in ${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}; do
  os=${target%/*} arch=${target#*/}
  echo "building for $target"
  folder="iconedge_${number}_${os}_${arch}"
  mkdir -p "$work/$folder"
  for program in iconedge iconedge-client; do
    GOOS=$os GOARCH=$arch go build -ldflags "-s -w -X main.version=$VERSION" -o "$work/$folder/$program" ./cmd/$program
  done
  cp README.md LICENSE NOTICE CHANGELOG.md "$work"/words/* "$work/$folder/"
  archive "$folder"
  [ "$os" = linux ] || continue
  # What nfpm packs lies in one folder, because its file can't name the architecture's.
  rm -rf "$work/package" && mkdir -p "$work/package"
  cp "$work/$folder"/* "$work/package/"
  for unit in deploy/systemd/*.service deploy/systemd/*.socket; do
    sed 's,/usr/local/bin/,/usr/bin/,' "$unit" >"$work/package/$(basename "$unit")"
  done
  find "$work/package" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
  for format in deb rpm; do
    PACKAGE=$work/package ARCH=$arch go tool -modfile=tools/go.mod nfpm package --config deploy/nfpm.yaml --packager $format --target dist/ >/dev/null
  done
done

echo "writing the bill of materials"
go tool -modfile=tools/go.mod cyclonedx-gomod bin -json -licenses -noserial -version "$VERSION" -output "$work/sbom.json" "$work/iconedge_${number}_linux_amd64/iconedge" 2>/dev/null
# The time of the document would differ from build to build.
sed -i -E "s/(\"timestamp\": \")[^\"]+/\1$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)/" "$work/sbom.json"
cp "$work/sbom.json" "dist/iconedge_${number}_sbom.cdx.json"

(cd dist && sha256sum -- * >"$work/SHA256SUMS" && cp "$work/SHA256SUMS" .)
cat dist/SHA256SUMS
[ -z "${KEY:-}" ] || deploy/sign.sh "$KEY"
