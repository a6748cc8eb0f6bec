VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: test build lint clean

test:
	./scripts/test

build:
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o sheaf ./cmd/sheaf

lint:
	test -z "$$(gofmt -l . | tee /dev/stderr)"
	go vet ./...
	go run $(STATICCHECK) ./...

clean:
	rm -rf sheaf dist
