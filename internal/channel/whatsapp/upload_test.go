package whatsapp_test

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/channel"
	"github.com/ratiba/ratiba/internal/channel/whatsapp"
)

func TestUpload(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, answer string
		status       int
		dialog       bool
		want         string
		class        channel.Class
	}{
		{"under the number at Meta", `{"id":"4242"}`, 200, false, "4242", ""},
		{"at the root behind 360dialog", `{"id":4242}`, 200, true, "4242", ""},
		{"an answer that names nothing may be asked again", `{}`, 200, false, "", channel.Transient},
		{"a name that could leave the path is none", `{"id":"../4242"}`, 200, false, "", channel.Transient},
		{"a refusal stays one", `{"error":{"code":131053,"message":"Media upload error"}}`, 400, false, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, whatsapp.Config{})
			p.answer = says(row.status, "", row.answer)
			account, path := p.meta(), "/"+whatsapp.Version+"/"+p.meta().Number+"/media"
			if row.dialog {
				account, path = p.dialog(), "/media"
			}
			got, err := p.client.Upload(t.Context(), account, channel.Media{MIME: "audio/ogg", Bytes: []byte("OggS")}, "a\"b\r\n.ogg")
			if got != row.want || (row.want == "") == (err == nil) || row.class != "" && channel.ClassOf(err) != row.class {
				t.Errorf("Upload = %q, %v", got, err)
			}
			if !strings.HasSuffix(p.path, path) || row.dialog == strings.Contains(p.path, p.meta().Number) {
				t.Errorf("posted to %s, want %s", p.path, path)
			}
			_, params, err := mime.ParseMediaType(p.header.Get("Content-Type"))
			if err != nil {
				t.Fatal(err)
			}
			form, err := multipart.NewReader(bytes.NewReader(p.raw), params["boundary"]).ReadForm(1 << 20)
			if err != nil {
				t.Fatal(err)
			}
			file := form.File["file"][0]
			if form.Value["messaging_product"][0] != "whatsapp" || form.Value["type"][0] != "audio/ogg; codecs=opus" || file.Filename != "a_b__.ogg" {
				t.Errorf("form %v, file %q", form.Value, file.Filename)
			}
			f, err := file.Open()
			if err != nil {
				t.Fatal(err)
			}
			if raw, err := io.ReadAll(f); err != nil || string(raw) != "OggS" {
				t.Errorf("the file came as %q, %v", raw, err)
			}
		})
	}
}
