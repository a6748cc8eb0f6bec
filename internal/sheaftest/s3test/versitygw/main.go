// Command versitygw is the S3 server of the tests: the gateway of that name with its file backend.
// It leaves out the cloud backends, which take minutes to compile. It is a separate module, so that
// its dependencies are not those of the program.
//
//	versitygw ADDRESS ACCESS-KEY SECRET-KEY OBJECTS METADATA
package main

import (
	"context"
	"log"
	"os"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	if len(os.Args) != 6 {
		log.Fatal("usage: versitygw ADDRESS ACCESS-KEY SECRET-KEY OBJECTS METADATA")
	}
	if err := serve(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
		log.Fatal(err)
	}
}

// serve runs the gateway with the defaults of its own command. The metadata of objects is in files,
// because not every file system of a test has attributes for it.
func serve(address, access, secret, objects, metadata string) error {
	sidecar, err := meta.NewSideCar(metadata)
	if err != nil {
		return err
	}
	files, err := posix.New(objects, sidecar, posix.PosixOpts{SideCarDir: metadata, NewDirPerm: 0o700, Concurrency: 5000, CopyObjectThreshold: 5 << 30})
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(context.Background(), files, &embedgw.Config{
		RootUserAccess: access, RootUserSecret: secret, Region: "us-east-1", Ports: []string{address},
		MaxConnections: 250000, MaxRequests: 100000, MultipartMaxParts: 10000,
		KeepAlive: true, Quiet: true, HealthPath: "/health",
	})
}
