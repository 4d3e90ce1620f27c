package face

// ReadAtMost is Read with a limit that a test can reach quickly.
var ReadAtMost = read
