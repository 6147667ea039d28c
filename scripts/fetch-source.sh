#!/usr/bin/env bash
# fetch-source.sh PACKAGE...: fetches and unpacks Debian source packages into build/third_party/PACKAGE.
#
# Debian 12 machines usually have no deb-src lines. This script has a sources list and a package index of its own, below
# build/third_party/.apt, and leaves the machine's alone; so it needs neither root nor sudo unless dpkg-source itself is
# missing. The mirror is the one the machine already uses. What is unpacked already is not fetched again.
#
#   DEADHEAT_THIRD_PARTY  another folder than build/third_party
#   DEADHEAT_MIRROR       another mirror than the machine's own
set -euo pipefail

if [ $# -eq 0 ]; then
  echo "usage: scripts/fetch-source.sh PACKAGE..." >&2
  exit 2
fi

root=$(cd "$(dirname "$0")/.." && pwd)
third_party=${DEADHEAT_THIRD_PARTY:-$root/build/third_party}
apt=$third_party/.apt
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if command -v sudo >/dev/null; then as_root=(sudo); else as_root=(false); fi
fi

wanted=()
for package in "$@"; do
  [ -e "$third_party/$package/.fetched" ] || wanted+=("$package")
done
[ ${#wanted[@]} -eq 0 ] && exit 0

if ! command -v dpkg-source >/dev/null || [ ! -e "$keyring" ]; then
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      dpkg-dev debian-archive-keyring >/dev/null; then
    echo "fetch-source: dpkg-source is missing and cannot be installed: install dpkg-dev" >&2
    exit 2
  fi
fi

mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"

# apt as this script sees it: own sources, own index, the machine's proxies and keys.
own_apt() {
  local command=$1
  shift
  "apt-$command" -qq -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User="$(id -un)" \
    -o Acquire::Retries=3 -o Acquire::Languages=none "$@"
}

mirror=${DEADHEAT_MIRROR:-}
if [ -z "$mirror" ]; then
  mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 2>/dev/null |
    awk '$1 == "bookworm" { print $2; exit }') || true
fi
mirror=${mirror:-http://deb.debian.org/debian}
list="deb-src [signed-by=$keyring] ${mirror%/} bookworm main"

# One at a time: two benchmarks that start together share the index.
exec 9>"$apt/lock"
flock 9

if [ "$(cat "$apt/sources.list" 2>/dev/null)" != "$list" ] || [ ! -e "$apt/updated" ]; then
  echo "$list" >"$apt/sources.list"
  rm -f "$apt/updated"
  if ! own_apt get update; then
    echo "fetch-source: cannot read the index of source packages from $mirror" >&2
    exit 2
  fi
  touch "$apt/updated"
fi

for package in "${wanted[@]}"; do
  [ -e "$third_party/$package/.fetched" ] && continue  # by whoever held the lock before
  echo "fetch-source: $package"
  rm -rf "$third_party/$package" "$apt/download"
  mkdir -p "$apt/download"
  if ! (cd "$apt/download" && own_apt get source --download-only "$package" >/dev/null); then
    echo "fetch-source: no source package '$package' at $mirror" >&2
    exit 2
  fi
  dpkg-source --no-check --no-copy -x "$apt"/download/*.dsc "$third_party/$package" >/dev/null
  rm -rf "$apt/download"
  touch "$third_party/$package/.fetched"
done
