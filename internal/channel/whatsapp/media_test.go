package whatsapp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/channel"
	"github.com/ratiba/ratiba/internal/channel/whatsapp"
)

const jpeg = "\xff\xd8\xff\xe0\x00\x10JFIF"

// files answers the two steps of a download.
func files(meta func(r *http.Request) string, data string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/attachments") {
			if r.URL.Query().Get("mid") != "9001" {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			says(200, "", data)(w, r)
			return
		}
		says(200, "", meta(r))(w, r)
	}
}

func described(link, mime, size string) func(*http.Request) string {
	return func(r *http.Request) string {
		return fmt.Sprintf(`{"messaging_product":"whatsapp","id":"9001","url":%q,"mime_type":%q,"file_size":%s}`,
			strings.ReplaceAll(link, "SELF", "http://"+r.Host), mime, size)
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	t.Run("at Meta the link is followed with the key", func(t *testing.T) {
		t.Parallel()
		p := newProvider(t, whatsapp.Config{})
		p.answer = files(described("SELF/graph/attachments?mid=9001", "image/jpeg", `"11"`), jpeg)
		got, err := p.client.Fetch(t.Context(), p.meta(), "9001")
		if diff := cmp.Diff(channel.Media{MIME: "image/jpeg", Bytes: []byte(jpeg)}, got); diff != "" || err != nil {
			t.Errorf("err = %v, media (-want +got):\n%s", err, diff)
		}
		if p.header.Get("Authorization") != "Bearer tok" || p.count() != 2 {
			t.Errorf("%d requests, the last with %v", p.count(), p.header)
		}
	})
	t.Run("behind 360dialog Meta's host is replaced, path and query are kept", func(t *testing.T) {
		t.Parallel()
		p := newProvider(t, whatsapp.Config{})
		p.answer = files(described("https://lookaside.fbsbx.com/wa/attachments?mid=9001&ext=1", "image/jpeg", "11"), jpeg)
		if _, err := p.client.Fetch(t.Context(), p.dialog(), "9001"); err != nil {
			t.Fatal(err)
		}
		if p.path != "/wa/attachments" || p.header.Get("D360-Api-Key") != "tok" {
			t.Errorf("asked %s with %v", p.path, p.header)
		}
	})
}

func TestFetchRefuses(t *testing.T) {
	t.Parallel()
	const own = "SELF/graph/attachments?mid=9001"
	for _, r := range []struct {
		name  string
		id    string
		meta  func(*http.Request) string
		data  string
		class channel.Class
		calls int
	}{
		{"an id that leads elsewhere", "../me", described(own, "image/jpeg", "1"), jpeg, channel.Defect, 0},
		{"a file whose size is over the limit", "9001", described(own, "image/jpeg", `"2000"`), jpeg, channel.Permanent, 1},
		{"a file that is larger than it says", "9001", described(own, "image/jpeg", "1"), jpeg + strings.Repeat("x", 2000), channel.Permanent, 2},
		{"a link to a stranger", "9001", described("https://evil.example/attachments?mid=9001", "image/jpeg", "1"), jpeg, channel.Permanent, 1},
		{"a link that hides a stranger", "9001", described("https://lookaside.fbsbx.com@evil.example/x", "image/jpeg", "1"), jpeg, channel.Permanent, 1},
		{"a link without encryption", "9001", described("http://lookaside.fbsbx.com/x", "image/jpeg", "1"), jpeg, channel.Permanent, 1},
		{"a link that is none", "9001", described("::", "image/jpeg", "1"), jpeg, channel.Permanent, 1},
		{"no link", "9001", described("", "image/jpeg", "1"), jpeg, channel.Transient, 1},
		{"a description that is no JSON", "9001", func(*http.Request) string { return "<html>" }, jpeg, channel.Transient, 1},
		{"a link that has expired", "9001", described("SELF/graph/attachments?mid=1", "image/jpeg", "1"), jpeg, channel.Permanent, 2},
		{"a page that claims to be an image", "9001", described(own, "image/jpeg", "1"), "<html><script>", channel.Permanent, 2},
		{"a program that claims to be text", "9001", described(own, "text/plain", "1"), "MZ\x90\x00\x03", channel.Permanent, 2},
		{"a type that is not taken", "9001", described(own, "text/html", "1"), "<html>", channel.Permanent, 2},
		{"a type that is none", "9001", described(own, ";;", "1"), jpeg, channel.Permanent, 2},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, whatsapp.Config{MediaLimit: 1000})
			p.answer = files(r.meta, r.data)
			_, err := p.client.Fetch(t.Context(), p.meta(), r.id)
			if channel.ClassOf(err) != r.class || p.count() != r.calls {
				t.Errorf("err = %v after %d requests, want %s after %d", err, p.count(), r.class, r.calls)
			}
		})
	}
	for _, r := range []struct {
		name   string
		status int
		body   string
		class  channel.Class
	}{
		{"a file that is gone", 400, `{"error":{"code":100,"error_subcode":33}}`, channel.Permanent},
		{"a key that is refused", 401, `{"error":{"code":190}}`, channel.Auth},
		{"too many files", 429, `{"error":{"code":4}}`, channel.Rate},
		{"a fault of the provider may be tried again", 503, ``, channel.Transient},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, whatsapp.Config{})
			p.answer = says(r.status, "", r.body)
			if _, err := p.client.Fetch(t.Context(), p.meta(), "9001"); channel.ClassOf(err) != r.class {
				t.Errorf("err = %v, want %s", err, r.class)
			}
		})
	}
	t.Run("an account without an address", func(t *testing.T) {
		t.Parallel()
		p := newProvider(t, whatsapp.Config{})
		if _, err := p.client.Fetch(t.Context(), channel.Account{}, "9001"); channel.ClassOf(err) != channel.Defect {
			t.Errorf("err = %v, want a defect", err)
		}
	})
}

func TestFetchTypes(t *testing.T) {
	t.Parallel()
	for _, r := range []struct{ claim, data, want string }{
		{"audio/ogg; codecs=opus", "OggS\x00\x02", "audio/ogg"},
		{"audio/amr", "#!AMR\n\x3c", "audio/amr"},
		{"audio/aac", "\xff\xf1\x50\x80", "audio/aac"},
		{"audio/mpeg", "\xff\xfb\x90\x64", "audio/mpeg"},
		{"audio/mpeg", "ID3\x03\x00", "audio/mpeg"},
		{"audio/mp4", "\x00\x00\x00\x20ftypM4A \x00\x00", "audio/mp4"},
		{"video/mp4", "\x00\x00\x00\x18ftypisom\x00\x00", "video/mp4"},
		{"video/3gpp", "\x00\x00\x00\x18ftyp3gp4\x00\x00", "video/3gpp"},
		{"image/png", "\x89PNG\r\n\x1a\n", "image/png"},
		{"image/webp", "RIFF\x00\x00\x00\x00WEBPVP", "image/webp"},
		{"application/pdf", "%PDF-1.7", "application/pdf"},
		{"text/plain", "habari", "text/plain"},
		{"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "PK\x03\x04", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		{"image/png", jpeg, ""},
		{"audio/ogg", "\xff\xfb\x90\x64", ""},
		{"text/plain", "caf\xe9", ""},
	} {
		t.Run(r.claim, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, whatsapp.Config{})
			p.answer = files(described("SELF/graph/attachments?mid=9001", r.claim, "1"), r.data)
			got, err := p.client.Fetch(t.Context(), p.meta(), "9001")
			if got.MIME != r.want || (err == nil) != (r.want != "") {
				t.Errorf("Fetch = %q, %v; want %q", got.MIME, err, r.want)
			}
		})
	}
}
