package httpapi

import (
	"bytes"
	"crypto/sha256"
	"io"
	"mime/multipart"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// D100: reading a form ends for any bytes: with an error of the API, or with a file that is a part of the
// body and has the same bytes each time it is opened.
func FuzzFileForm(f *testing.F) {
	f.Add([]byte("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\n\r\nbytes\r\n--b--\r\n"), "multipart/form-data; boundary=b")
	f.Add([]byte("--b\r\nContent-Disposition: form-data; name=document_id\r\n\r\nx\r\n--b\r\nContent-Disposition: form-data; name=file\r\n\r\n\r\n--b--"), "multipart/form-data; boundary=b")
	f.Add([]byte("--b\n\n--b--"), "multipart/form-data; boundary=b")
	f.Add([]byte("--\r\n\r\n----"), "multipart/form-data; boundary=")
	f.Fuzz(func(t *testing.T, body []byte, header string) {
		var form fileForm
		if err := form.read(body, header); err != nil {
			if sheaf.KindOf(err) != sheaf.Invalid {
				t.Fatalf("got %v, want a refusal of the input", err)
			}
			return
		}
		for range 2 {
			file, err := io.ReadAll(form.open())
			if err != nil || int64(len(file)) != form.bytes || sha256.Sum256(file) != form.sum || !bytes.Contains(body, file) {
				t.Fatalf("opened it is %d bytes, %v; it was read as %d", len(file), err, form.bytes)
			}
		}
	})
}

// A file that a form carries is read as it was written, whatever is in it.
func FuzzFileForm_RoundTrip(f *testing.F) {
	f.Add([]byte("bytes\r\n--b--"), "a.png")
	f.Fuzz(func(t *testing.T, file []byte, name string) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		part, err := w.CreateFormFile("file", name)
		if err != nil {
			t.Fatal(err) // a buffer takes everything
		}
		part.Write(file)
		w.Close()
		var form fileForm
		if err := form.read(b.Bytes(), w.FormDataContentType()); err != nil {
			if sheaf.KindOf(err) != sheaf.Invalid {
				t.Fatal(err)
			}
			return // its name is no text
		}
		if got, _ := io.ReadAll(form.open()); !bytes.Equal(got, file) {
			t.Fatalf("read %q, want %q", got, file)
		}
	})
}
