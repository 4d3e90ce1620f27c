package llm

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// storedVectors is how a record and a tape keep embeddings: all numbers of all
// vectors, four bytes each.
type storedVectors struct {
	Dimensions int    `json:"dimensions"`
	Numbers    string `json:"numbers"` // base64 of little-endian float32
}

func packVectors(vectors [][]float32) storedVectors {
	if len(vectors) == 0 {
		return storedVectors{}
	}
	out := storedVectors{Dimensions: len(vectors[0])}
	var raw []byte
	for _, v := range vectors {
		for _, f := range v {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
		}
	}
	out.Numbers = base64.StdEncoding.EncodeToString(raw)
	return out
}

func (s storedVectors) unpack() ([][]float32, error) {
	const width = 4
	raw, err := base64.StdEncoding.DecodeString(s.Numbers)
	if err != nil {
		return nil, fmt.Errorf("read vectors: %w", err)
	}
	if len(raw) == 0 {
		return nil, nil
	}
	if s.Dimensions <= 0 || len(raw)%(width*s.Dimensions) != 0 {
		return nil, fmt.Errorf("read vectors: %d bytes are no vectors of %d numbers", len(raw), s.Dimensions)
	}
	var out [][]float32
	for len(raw) > 0 {
		v := make([]float32, s.Dimensions)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[width*i:]))
		}
		out, raw = append(out, v), raw[width*s.Dimensions:]
	}
	return out, nil
}

// stored is what a record keeps of embeddings; nothing when they are too long
// to keep, so that a repeated turn asks again.
func (s storedVectors) stored() string {
	raw, err := json.Marshal(s)
	if err != nil || len(raw) > MaxAnswer {
		return ""
	}
	return string(raw)
}

// embedded validates embeddings: one vector for each text, all of one length,
// every number finite.
func embedded(texts []string, vectors [][]float32) error {
	if len(vectors) != len(texts) {
		return fmt.Errorf("%w: %d vectors for %d texts", ErrAnswer, len(vectors), len(texts))
	}
	for i, v := range vectors {
		if len(v) == 0 || len(v) != len(vectors[0]) {
			return fmt.Errorf("%w: vector %d has %d numbers, the first %d", ErrAnswer, i, len(v), len(vectors[0]))
		}
		for _, f := range v {
			if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
				return fmt.Errorf("%w: vector %d holds a number that is not finite", ErrAnswer, i)
			}
		}
	}
	return nil
}
