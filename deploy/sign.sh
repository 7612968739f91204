#!/usr/bin/env bash
# Signs the checksums in dist/ by the SSH key of a releaser, and verifies the signature as everybody
# does who downloads the files (deploy/README.md):
#
#     deploy/sign.sh ~/.ssh/release
#
# The public key stands in deploy/allowed_signers, or in the file that SIGNERS names.
set -euo pipefail
cd "$(dirname "$0")/.."
key=${1:?"usage: deploy/sign.sh KEY"}
signers=${SIGNERS:-deploy/allowed_signers}
rm -f dist/SHA256SUMS.sig
(cd dist && sha256sum --quiet --check SHA256SUMS)
ssh-keygen -q -Y sign -f "$key" -n iconedge dist/SHA256SUMS
if ! ssh-keygen -q -Y verify -f "$signers" -I release -n iconedge -s dist/SHA256SUMS.sig <dist/SHA256SUMS; then
  rm -f dist/SHA256SUMS.sig
  echo "nobody could verify the signature: add a line to $signers: release namespaces=\"iconedge\" $(ssh-keygen -y -f "$key")" >&2
  exit 1
fi
