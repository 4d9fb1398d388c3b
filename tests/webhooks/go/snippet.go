// Exits with 0 when the snippet of the documentation accepts the message: SECRET HEADERS.json BODY
package main

import (
	"encoding/json"
	"net/http"
	"os"
)

func main() {
	secret, body := os.Args[1], must(os.ReadFile(os.Args[3]))
	var headers map[string]string
	if err := json.Unmarshal(must(os.ReadFile(os.Args[2])), &headers); err != nil {
		panic(err)
	}
	header := http.Header{}
	for name, value := range headers {
		header.Set(name, value)
	}
	if !Verify(secret, header, body) {
		os.Exit(3)
	}
}

func must(content []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return content
}
