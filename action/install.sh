# Puts scruple on the path: the given binary, or a release whose checksum is right.
set -euo pipefail
bin="$RUNNER_TEMP/scruple-bin"
mkdir -p "$bin"
if [ -n "${BINARY:-}" ]; then
  cp "$BINARY" "$bin/scruple"
  chmod +x "$bin/scruple"
  echo "$bin" >> "$GITHUB_PATH"
  exit 0
fi
releases="${SCRUPLE_RELEASES:-https://github.com/scruple-eval/scruple/releases}"
version="${VERSION:-latest}"
if [ "$version" = latest ]; then
  version=$(curl -fsSLI -o /dev/null -w '%{url_effective}' "$releases/latest")
  version=${version##*/}
fi
version=${version#v}
case "$version" in
  *[!0-9A-Za-z.-]* | '') echo "::error title=scruple::version $version: want one such as 1.4.0"; exit 2 ;;
esac
case "$RUNNER_OS" in
  Linux) os=linux ;; macOS) os=darwin ;; Windows) os=windows ;;
  *) echo "::error title=scruple::no release for $RUNNER_OS"; exit 2 ;;
esac
case "$RUNNER_ARCH" in
  X64) arch=amd64 ;; ARM64) arch=arm64 ;;
  *) echo "::error title=scruple::no release for $RUNNER_ARCH"; exit 2 ;;
esac
archive="scruple_${version}_${os}_${arch}.tar.gz"
[ "$os" = windows ] && archive="${archive%.tar.gz}.zip"
cd "$bin"
curl -fsSL --retry 3 -O "$releases/download/v$version/$archive" -O "$releases/download/v$version/checksums.txt"
want=$(awk -v name="$archive" '$2 == name || $2 == "*" name {print $1}' checksums.txt)
if command -v sha256sum > /dev/null; then got=$(sha256sum "$archive"); else got=$(shasum -a 256 "$archive"); fi
if [ -z "$want" ] || [ "${got%% *}" != "$want" ]; then
  echo "::error title=scruple::$archive does not have the checksum of the release"
  exit 2
fi
if [ "$os" = windows ]; then unzip -qo "$archive"; else tar -xzf "$archive"; fi
echo "$bin" >> "$GITHUB_PATH"
