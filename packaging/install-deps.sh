#!/usr/bin/env bash
# Installs what building and testing Deadheat needs on Debian 12, and nothing when it is all there already.
set -euo pipefail

packages=(
  build-essential cmake ninja-build ccache pkg-config
  clang-19 llvm-19-dev lld-19 clang-format-19 clang-tidy-19 libclang-rt-19-dev llvm-19-linker-tools libomp-19-dev
  libz3-dev libzstd-dev libxxhash-dev libcli11-dev libfmt-dev nlohmann-json3-dev libboost-context-dev
  libgtest-dev libgmock-dev libbenchmark-dev libedit-dev libcurl4-openssl-dev zlib1g-dev python3
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root=()
elif command -v sudo >/dev/null; then
  as_root=(sudo)
else
  echo "install-deps: not root and no sudo; please install: ${missing[*]}" >&2
  exit 2
fi
echo "install-deps: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
