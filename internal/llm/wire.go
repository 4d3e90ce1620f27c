package llm

import "unicode/utf8"

// AppendString appends s to JSON as a string, for adapters. What is not UTF-8
// becomes U+FFFD, as with encoding/json.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		b := s[i]
		if b >= ' ' && b != '"' && b != '\\' && b < utf8.RuneSelf {
			i++
			continue
		}
		if b >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[start:i]...), `\ufffd`...)
				start = i + n
			}
			i += n
			continue
		}
		dst = append(dst, s[start:i]...)
		switch b {
		case '"', '\\':
			dst = append(dst, '\\', b)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&0xF])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// AppendMessages appends messages as the elements of a JSON array, in the form
// both vendors share. first says that nothing stands before them.
func AppendMessages(dst []byte, list []Message, first bool) []byte {
	for i := range list {
		if !first || i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(append(dst, `{"role":`...), list[i].Role)
		dst = AppendString(append(dst, `,"content":`...), list[i].Content)
		dst = append(dst, '}')
	}
	return dst
}

// WireSize is about how long a call is on the wire, never too short by much.
func WireSize(call *Call) int {
	const envelope = 512
	n := size(call)
	return n + n/8 + envelope
}
