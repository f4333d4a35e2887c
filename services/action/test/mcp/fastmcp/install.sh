# Installs FastMCP, which then runs with PYTHONPATH=FOLDER. All versions are in requirements.txt.
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' && python3 -m pip --version >/dev/null ||
  unavailable 'there is no Python 3.10 with pip'
python3 -m pip install --quiet --no-deps --only-binary=:all: --no-compile --target "$TARGET" -r "$SCRIPTS/requirements.txt"
