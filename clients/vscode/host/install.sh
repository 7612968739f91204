#!/usr/bin/env bash
# Installs code-server, pinned by package-lock.json, for the tests of the extension. Its own script
# would download ripgrep, which the tests do not need, from elsewhere, so this one compiles the
# modules that the server needs.
set -u
cd "$(dirname "$0")"
[ node_modules/.done -nt package-lock.json ] && exit 0
echo "installing code-server (pinned by clients/vscode/host/package-lock.json)"
gyp="$(dirname "$(realpath "$(command -v npm)")")/../node_modules/node-gyp/bin/node-gyp.js"
[ -f "$gyp" ] || gyp="$(npm root --global)/npm/node_modules/node-gyp/bin/node-gyp.js"
headers="$(dirname "$(dirname "$(realpath "$(command -v node)")")")"
compile() { (cd "$1" && shift && node "$gyp" rebuild --nodedir="$headers" "$@"); }
(
  npm ci --ignore-scripts --no-progress &&
    binding="$PWD/node_modules/argon2/lib/binding/napi-v3" &&
    compile node_modules/argon2 --module="$binding/argon2.node" --module_name=argon2 --module_path="$binding" --napi_version=8 --napi_build_version=3 &&
    cd node_modules/code-server/lib/vscode && npm install --ignore-scripts --omit=dev --legacy-peer-deps --no-progress && ln -sfn node_modules node_modules.asar &&
    for module in node-pty native-watchdog @vscode/spdlog; do compile "node_modules/$module" || exit 1; done
) >install.log 2>&1 && touch node_modules/.done && exit 0
rm -rf node_modules
echo "SKIPPED: the extension in VS Code, because code-server can't be installed (a C++ compiler, Python and the headers of Node are needed):"
tail -5 install.log
