package tenant

// IsSlug reports whether a business may have that slug.
func IsSlug(s string) bool { return slugForm.MatchString(s) }
