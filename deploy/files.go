// Package deploy holds the files of this folder that tests run as they are.
package deploy

import "embed"

// Cluster has the configuration of a whole cluster, one file for each kind of server. In them MEMBER
// and ADDRESS stand for the machine's own name and address, PASSWORD for a password of yours.
//
//go:embed cluster
var Cluster embed.FS
