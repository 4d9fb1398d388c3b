// Go. `body` as it came in, before it is parsed.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"time"
)

const tolerance = 5 * time.Minute

func Verify(secretKey string, header http.Header, body []byte) bool {
	timestamp := header.Get("Timestamp")
	sent, err := time.Parse(time.RFC3339, timestamp)
	if err != nil || time.Since(sent).Abs() > tolerance {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secretKey))
	mac.Write([]byte(timestamp + "." + base64.StdEncoding.EncodeToString(body)))
	expected := mac.Sum(nil)
	for _, name := range []string{"Signature", "Signature-Next"} {
		if given, err := hex.DecodeString(header.Get(name)); err == nil && hmac.Equal(given, expected) {
			return true
		}
	}
	return false
}
