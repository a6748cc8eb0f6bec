package strict

import "github.com/go-json-experiment/json/jsontext"

// Value returns a value of any kind, null included, as its bytes were sent. They are part of the
// parsed body and must not be changed. A field that is not there is nil.
func (o Object) Value(name string) jsontext.Value { return o.find(name) }
