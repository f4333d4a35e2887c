# Installs two packages of the distribution: buildah, which builds images without a daemon, and debootstrap, which makes a Debian root file
# system. The packages and their libraries are only unpacked. debootstrap verifies Debian's packages with gpgv and Debian's keys.
command -v wget >/dev/null || unavailable 'there is no wget, by which debootstrap downloads'
. "$(dirname "$0")/apt.sh"
has_apt || unavailable 'there is no apt-get'
read_lists
unpack "$TARGET" buildah debootstrap debian-archive-keyring gpgv \
  libassuan0 libdevmapper1.02.1 libgcrypt20 libgpg-error0 libgpgme11 libpcre2-8-0 libseccomp2 libselinux1 libudev1
cp -a "$TARGET/lib/." "$TARGET/usr/lib/"
rm -rf "$TARGET/lib" "$TARGET/usr/share/doc" "$TARGET/usr/share/man"
echo '{ "default": [{ "type": "insecureAcceptAnything" }] }' >"$TARGET/policy.json"
cp "$SCRIPTS/run" "$TARGET/run"
