package model

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A key does not show in the forms in which programs print it, nor do its lines.
func TestNoFormOfAKeyShows(t *testing.T) {
	line := "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw"
	pem := "-----BEGIN PRIVATE KEY-----\n" + line + "\n" + strings.ToLower(line) + "\n-----END PRIVATE KEY-----\n"
	account := `{"type": "service_account", "private_key": "` + strings.ReplaceAll(pem, "\n", `\n`) + `"}`
	marshalled := func(s string) string {
		b, _ := json.Marshal(s)
		return string(b)
	}
	tests := []struct{ key, text, hidden string }{
		{pem, "key:\n" + pem, line},
		{pem, "  > " + strings.ReplaceAll(pem, "\n", "\n  > "), line},
		{pem, marshalled(pem), line},
		{account, "using " + account, line},
		{account, marshalled(account), line},
		{account, pem, line},
		{`pa"ss\word<1234567`, marshalled(`pa"ss\word<1234567`), "1234567"},
		{`pa"ss\word<1234567`, `{"a": "pa\"ss\\word<1234567"}`, "1234567"},
		{"grün/+Schlüssel=1", `"gr\u00fcn/+Schl\u00fcssel=1"`, "ssel=1"},
		{"grün/+Schlüssel=1", `"grün\/+Schlüssel=1"`, "ssel=1"},
		{"grün/+Schlüssel=1", "?k=" + url.QueryEscape("grün/+Schlüssel=1"), "ssel"},
		{"Key1/8e7d+6c5b4a32==", "?k=Key1%2f8e7d%2b6c5b4a32%3d%3d", "6c5b4a32"}, // .NET
		{"Key1/8e7d+6c5b4a32==", "?k=Key1%2f8e7d+6c5b4a32==", "6c5b4a32"},
		{"Key1/8e7d+6c5b4a32==", "?k=Key1/8e7d%2B6c5b4a32%3D%3D", "6c5b4a32"}, // Python
		{"Key1/8e7d+6c5b4a32==", "?k=Key1/8e7d%2b6c5b4a32%3d%3d", "6c5b4a32"},
		{"q7f3d9a1c5e8b204", base64.StdEncoding.EncodeToString([]byte("q7f3d9a1c5e8b204")), "YTFjNWU4"},
		{"q7f3d9a1c5e8b204", "Basic " + base64.StdEncoding.EncodeToString([]byte(":q7f3d9a1c5e8b204")), "ZjNkOWEx"},
		{"q7f3d9a1c5e8b204", "Basic " + base64.URLEncoding.EncodeToString([]byte("me:q7f3d9a1c5e8b204")), "YTFjNWU4"},
	}
	for _, tt := range tests {
		if !strings.Contains(tt.text, tt.hidden) {
			t.Fatalf("%q does not contain %q", tt.text, tt.hidden)
		}
		k, r := NewKeys(tt.key), eval.Response{Text: tt.text}
		k.CleanAnswer(&r)
		for _, got := range []string{r.Text, k.scrub(tt.text), string(k.Scrub([]byte(tt.text), true)), string(k.Scrub([]byte(tt.text), false))} {
			if strings.Contains(got, tt.hidden) || !strings.Contains(got, "[key]") {
				t.Errorf("%q shows in %q", tt.hidden, got)
			}
		}
	}
}

func TestScrubLeavesWordsInAnswers(t *testing.T) {
	text := "anything goes"
	if got := string(NewKeys("anything", "").Scrub([]byte(text), true)); got != text {
		t.Errorf("got %q", got)
	}
	if got := string(NewKeys("anything", "").Scrub([]byte(text), false)); got != "[key] goes" {
		t.Errorf("got %q", got)
	}
}
