# versitygw, built by Go with caches of its own.
command -v go >/dev/null || unavailable 'there is no Go'
export GOPATH="$PWD/path" GOMODCACHE="$PWD/modules" GOCACHE="$PWD/cache" GOBIN="$PWD/bin"
export CGO_ENABLED=0 GOFLAGS='-buildvcs=false -modcacherw' GOTOOLCHAIN=local
go install -trimpath -ldflags='-s -w' github.com/versity/versitygw/cmd/versitygw@v1.8.0
mv bin/versitygw "$TARGET"
