#!/bin/sh
# Fetches ThreadSanitizer's own tests: the folder compiler-rt/test/tsan of Debian's source package llvm-toolchain-19.
#
#   tests/tsan/fetch.sh CACHE_DIR
#
# Leaves CACHE_DIR/tsan/*.cpp and friends. Nothing of the system's apt configuration is touched: the source repository
# is named in a sources file of its own, with package lists of its own, all inside CACHE_DIR. The big tarball is
# deleted once the folder is out of it. A second call does nothing.
set -eu
cache=${1:?usage: fetch.sh CACHE_DIR}
package=llvm-toolchain-19
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
if [ -f "$cache/tsan/.complete" ]; then
  echo "$cache/tsan"
  exit 0
fi

apt_dir=$cache/apt
mkdir -p "$apt_dir/lists/partial" "$apt_dir/archives/partial"
cat >"$apt_dir/deb-src.sources" <<SOURCES
Types: deb-src
URIs: http://deb.debian.org/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
SOURCES

# The sandbox user of apt cannot read a private folder; sources are signed, so the download may run as the caller.
# shellcheck disable=SC2089
apt() {
  nice apt-get -q -o Dir::Etc::SourceList="$apt_dir/deb-src.sources" -o Dir::Etc::SourceParts=- \
    -o Dir::State::Lists="$apt_dir/lists" -o Dir::Cache="$apt_dir" -o APT::Sandbox::User=root "$@"
}
apt update >&2
(cd "$cache" && apt source --download-only "$package" >&2)

tarball=$(ls "$cache/${package}"_*.orig.tar.* | grep -v '\.asc$' | head -n 1)
rm -rf "$cache/unpacked" && mkdir "$cache/unpacked"
nice tar -C "$cache/unpacked" -xf "$tarball" --wildcards '*/compiler-rt/test/tsan/*'
found=$(find "$cache/unpacked" -type d -path '*compiler-rt/test/tsan' | head -n 1)
if [ -z "$found" ]; then
  echo "fetch.sh: $tarball: no folder compiler-rt/test/tsan inside" >&2
  exit 2
fi
rm -rf "$cache/tsan" && mv "$found" "$cache/tsan"
rm -rf "$cache/unpacked" "$cache/${package}"_*
touch "$cache/tsan/.complete"
echo "$cache/tsan"
