# Installs LangGraph's Agent Server. The server must run with PYTHONPATH set to the folder of the installation. All versions are pinned in
# requirements.txt.
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' && python3 -m pip --version >/dev/null ||
  unavailable 'there is no Python 3.11 with pip'
python3 -m pip install --quiet --no-deps --no-compile --target "$TARGET" -r "$SCRIPTS/requirements.txt"
