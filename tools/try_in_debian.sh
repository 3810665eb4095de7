#!/usr/bin/env bash
# Installs a wheel for CPython 3.11 into a bare Debian 12 without compilers and without network, and uses it there.
#
#   tools/try_in_debian.sh WHEEL [FOLDER]    (as root; wants debootstrap, and 500 MB in FOLDER, by default build-debian)
#
# Debian 11 (glibc 2.31) has to refuse the wheel by its tag.
set -euo pipefail
wheel=$(realpath "$1")
folder=$(realpath -m "${2:-build-debian}")
mkdir -p "$folder/wheels"
[ -d "$folder/bookworm/usr/bin" ] ||
  debootstrap --variant=minbase --include=python3,python3-venv bookworm "$folder/bookworm"
[ -d "$folder/bullseye/usr/bin" ] ||
  debootstrap --variant=minbase --include=python3,python3-pip bullseye "$folder/bullseye"

python3 -m pip download --quiet --only-binary :all: --python-version 3.11 --platform manylinux_2_34_x86_64 \
  --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 --dest "$folder/wheels" numpy ml_dtypes
cp "$wheel" "$folder/wheels/"

root=$folder/bookworm
if chroot "$root" sh -c 'command -v cc gcc g++ c++'; then echo "there is a compiler in $root"; exit 1; fi
rm -rf "$root/trial" && mkdir "$root/trial" && cp -r "$folder/wheels" "$root/trial/"
chroot "$root" sh -euc '
  cd /trial
  python3 -m venv venv
  venv/bin/pip install --quiet --no-index --find-links wheels nnvm-amp
  venv/bin/amp --version
  venv/bin/amp demo --quick
  digits=$(venv/bin/python -c "import amp.demo; print(amp.demo.find_data())")
  venv/bin/amp convert "$digits/digits-symbol.json" "$digits/digits-0000.params" --to bfloat16 -o low
  venv/bin/amp run low-symbol.json low-0000.params --random data=1x1x8x8'

# The same wheel under a name for Debian 11's Python, 3.9, once with its own platform and once with one that Debian 11 has.
root=$folder/bullseye
name=$(basename "$wheel" | sed "s/cp311-cp311/py3-none/")
mkdir -p "$root/trial"
for platform in manylinux_2_34_x86_64 manylinux_2_31_x86_64; do
  cp "$wheel" "$root/trial/${name/manylinux_2_34_x86_64/$platform}"
done
chroot "$root" sh -uc "
  cd /trial
  python3 -m pip install --quiet --no-index --no-deps --ignore-requires-python --target a '$name' 2>&1 |
    grep 'is not a supported wheel on this platform' || exit 1
  python3 -m pip install --quiet --no-index --no-deps --ignore-requires-python --target b \
    '${name/manylinux_2_34_x86_64/manylinux_2_31_x86_64}'" ||
  { echo "Debian 11 does not refuse it by its tag"; exit 1; }
echo "Debian 12 runs it, Debian 11 refuses it by its tag"
