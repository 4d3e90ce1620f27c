package llm

// ParseInFull is Schema.Parse by the full validator alone, and what confidence
// it finds.
func (s *Schema) ParseInFull(answer string) (confidence float64, stated bool, err error) {
	doc, err := s.parseInFull(answer)
	return doc.confidence, doc.stated, err
}

// Quick reports whether the one-pass validator accepts an answer, and whether
// the schema has one.
func (s *Schema) Quick(answer string) (confidence float64, stated, accepted, has bool) {
	if s.quick == nil {
		return 0, false, false, false
	}
	confidence, stated, accepted = s.quick.accept(answer)
	return confidence, stated, accepted, true
}
