package whatsapp

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/sim/face"
)

const (
	mediaLimit  = 16 << 20            // bytes of one file
	mediaMemory = 256 << 20           // bytes of all files; the oldest go first
	mediaLife   = 30 * 24 * time.Hour // how long the platform keeps a file
	urlLife     = 5 * time.Minute     // how long a download address works
	attachments = "/whatsapp_business/attachments/"
)

// mediaFile is a file on the platform.
type mediaFile struct {
	id     string
	kind   string
	mime   string
	data   []byte
	at     time.Time // by the product's clock
	secret []byte    // signs its download addresses
}

func (f *mediaFile) expired(now time.Time) bool { return now.Sub(f.at) >= mediaLife }

// signURL proves that a download address was made here and until when it works.
func (f *mediaFile) signURL(until int64) string {
	mac := hmac.New(sha256.New, f.secret)
	_, _ = fmt.Fprintf(mac, "%s/%d", f.id, until)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// element is the file as an inbound message shows it.
func (f *mediaFile) element(in *inboundMedia) map[string]any {
	sum := sha256.Sum256(f.data)
	out := map[string]any{
		"id": f.id, "mime_type": f.mime, "sha256": base64.StdEncoding.EncodeToString(sum[:]),
	}
	if in.Caption != "" && f.kind != "audio" && f.kind != "sticker" {
		out["caption"] = in.Caption
	}
	switch f.kind {
	case "document":
		out["filename"] = cmp.Or(in.Filename, filepath.Base(in.Path), "document")
	case "audio":
		out["voice"] = in.Voice
	case "sticker":
		out["animated"] = false
	}
	return out
}

// addMedia stores a file, dropping the oldest ones when memory runs out.
// Callers hold mu.
func (s *Simulator) addMedia(kind, mimeType string, data []byte) *mediaFile {
	total := len(data)
	for _, f := range s.media {
		total += len(f.data)
	}
	for total > mediaMemory {
		var oldest *mediaFile
		for _, f := range s.media {
			if oldest == nil || f.at.Before(oldest.at) {
				oldest = f
			}
		}
		total -= len(oldest.data)
		delete(s.media, oldest.id)
	}
	f := &mediaFile{
		id: newNumericID(16), kind: kind, mime: mimeType, data: data,
		at: s.clock.Now(), secret: make([]byte, 16),
	}
	_, _ = rand.Read(f.secret) // crypto/rand.Read never fails.
	s.media[f.id] = f
	return f
}

func (s *Simulator) mediaAlive(id string) bool {
	f := s.media[id]
	return f != nil && !f.expired(s.clock.Now())
}

// takeMedia stores the file of an inbound message; nil in means no file.
func (s *Simulator) takeMedia(in *inboundMedia) (*mediaFile, error) {
	if in == nil {
		return nil, nil //nolint:nilnil // a message without a file has none.
	}
	switch in.Kind {
	case "image", "audio", "video", "document", "sticker":
	default:
		return nil, fault.E(fault.Invalid, `"media.kind" must be image, audio, video, document or sticker.`)
	}
	data := in.Base64
	if in.Path != "" {
		var err error
		if data, err = readFile(in.Path); err != nil {
			return nil, err
		}
	}
	if len(data) == 0 || len(data) > mediaLimit {
		return nil, fault.E(fault.Invalid, fmt.Sprintf(`"media" needs "base64" or "path" with 1 to %d bytes.`, mediaLimit))
	}
	kind := cmp.Or(in.MIME, mime.TypeByExtension(filepath.Ext(in.Path)), http.DetectContentType(data))
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addMedia(in.Kind, kind, data), nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.NotFound, "There is no file at that path on the simulator's machine.")
	}
	if !info.Mode().IsRegular() || info.Size() > mediaLimit {
		return nil, fault.E(fault.Invalid, fmt.Sprintf("The path must name a regular file of at most %d bytes.", mediaLimit))
	}
	data, err := os.ReadFile(path) //nolint:gosec // the person at the machine names a file of their own.
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "The file at that path cannot be read.")
	}
	return data, nil
}

func (s *Simulator) graphUpload(w http.ResponseWriter, r *http.Request) {
	if _, e := s.graphNumber(r, r.PathValue("id")); e != nil {
		refuse(w, e)
		return
	}
	s.upload(w, r)
}

func (s *Simulator) dialogUpload(w http.ResponseWriter, r *http.Request) {
	if _, ok := s.dialogNumber(r); !ok {
		refuseKey(w)
		return
	}
	s.upload(w, r)
}

func (s *Simulator) upload(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, mediaLimit+sendLimit)
	file, header, err := r.FormFile("file")
	if err != nil {
		refuse(w, misshaped("The parameter file is required."))
		return
	}
	defer func() { _ = file.Close() }()
	if r.FormValue("messaging_product") != "whatsapp" {
		refuse(w, misshaped("The parameter messaging_product is required."))
		return
	}
	data, err := io.ReadAll(io.LimitReader(file, mediaLimit+1))
	if err != nil || len(data) == 0 || len(data) > mediaLimit {
		refuse(w, coded(131053, "The file is empty, too large or unreadable."))
		return
	}
	mimeType := cmp.Or(r.FormValue("type"), header.Header.Get("Content-Type"))
	s.mu.Lock()
	f := s.addMedia("", mimeType, data)
	s.mu.Unlock()
	face.Write(w, http.StatusOK, map[string]any{"id": f.id})
}

// graphObject serves GET /{id}: a file's metadata, or a number's description.
func (s *Simulator) graphObject(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	token := bearer(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	known := false
	for _, n := range s.numbers {
		if n.Provider != Meta || token == "" || n.AccessToken != token {
			continue
		}
		known = true
		if n.PhoneNumberID == id {
			face.Write(w, http.StatusOK, map[string]any{
				"id": n.PhoneNumberID, "display_phone_number": "+" + face.Digits(n.DisplayPhone),
				"verified_name": "Simulated business", "quality_rating": "GREEN",
			})
			return
		}
	}
	if !known {
		refuse(w, coded(190, ""))
		return
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	s.metadata(w, id, scheme+r.Host+"/graph"+attachments)
}

// dialogObject serves GET /{media-id} of 360dialog, whose addresses name
// Meta's host for the client to replace.
func (s *Simulator) dialogObject(w http.ResponseWriter, r *http.Request) {
	if _, ok := s.dialogNumber(r); !ok {
		refuseKey(w)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.metadata(w, r.PathValue("id"), "https://lookaside.fbsbx.com"+attachments)
}

// metadata answers with a file's description and a download address that
// works for five minutes. Callers hold mu.
func (s *Simulator) metadata(w http.ResponseWriter, id, address string) {
	now := s.clock.Now()
	f := s.media[id]
	if f == nil || f.expired(now) {
		e := noSuchObject(id)
		e.http = http.StatusNotFound
		refuse(w, e)
		return
	}
	until := now.Add(urlLife).Unix()
	query := url.Values{"mid": {f.id}, "ext": {strconv.FormatInt(until, 10)}, "hash": {f.signURL(until)}}
	sum := sha256.Sum256(f.data)
	face.Write(w, http.StatusOK, map[string]any{
		"messaging_product": "whatsapp",
		"id":                f.id,
		"mime_type":         f.mime,
		"sha256":            hex.EncodeToString(sum[:]),
		"file_size":         strconv.Itoa(len(f.data)),
		"url":               address + "?" + query.Encode(),
	})
}

// download serves a file. Its address must be fresh, and the caller must know
// a token of Meta's or a key of 360dialog's.
func (s *Simulator) download(w http.ResponseWriter, r *http.Request) {
	_, dialog := s.dialogNumber(r)
	if !dialog && !s.knownToken(bearer(r)) {
		refuse(w, coded(190, ""))
		return
	}
	query := r.URL.Query()
	until, err := strconv.ParseInt(query.Get("ext"), 10, 64)
	s.mu.Lock()
	f := s.media[query.Get("mid")]
	now := s.clock.Now()
	s.mu.Unlock()
	if err != nil || f == nil || f.expired(now) || now.Unix() >= until ||
		!hmac.Equal([]byte(f.signURL(until)), []byte(query.Get("hash"))) {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", f.mime)
	w.Header().Set("Content-Length", strconv.Itoa(len(f.data)))
	_, _ = w.Write(f.data) // The client has gone; nobody is left to tell.
}

func (s *Simulator) knownToken(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.numbers {
		if n.Provider == Meta && token != "" && n.AccessToken == token {
			return true
		}
	}
	return false
}
