# versitygw, built by Go with caches of its own, and not optimized, which would take a third of the build: tests send it small files.
command -v go >/dev/null || unavailable 'there is no Go'
export GOPATH="$PWD/path" GOMODCACHE="$PWD/modules" GOCACHE="$PWD/cache" GOBIN="$PWD/bin"
export CGO_ENABLED=0 GOFLAGS='-buildvcs=false -modcacherw' GOTOOLCHAIN=local
go install -trimpath -gcflags='all=-N -l' -ldflags='-s -w' github.com/versity/versitygw/cmd/versitygw@v1.8.0
mv bin/versitygw "$TARGET"
