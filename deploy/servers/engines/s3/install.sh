# Builds versitygw with separate Go caches. The build is not optimized, because tests use only small files and optimizing would take a third
# of the build time.
command -v go >/dev/null || unavailable 'there is no Go'
export GOPATH="$PWD/path" GOMODCACHE="$PWD/modules" GOCACHE="$PWD/cache" GOBIN="$PWD/bin"
export CGO_ENABLED=0 GOFLAGS='-buildvcs=false -modcacherw' GOTOOLCHAIN=local
go install -trimpath -gcflags='all=-N -l' -ldflags='-s -w' github.com/versity/versitygw/cmd/versitygw@v1.8.0
mv bin/versitygw "$TARGET"
