package model

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/scruple-eval/scruple/internal/eval"
)

// keyLike matches what looks like a credential in a server's words.
var keyLike = regexp.MustCompile(`(?i)\bbearer\s+[a-z0-9._~+/-]{12,}=*` +
	`|\b(?:sk|pk|rk|gsk|xai|nvapi|hf|csk|fw|r8|tgp)[-_][a-z0-9_*.-]{8,}` +
	`|\bAIza[a-z0-9_-]{16,}` +
	`|\b(?:api[-_]?key|key|token)=[^&\s"']+`)

// keyNamed matches a variable that holds a key, by its name or as a password in a URL.
var keyNamed = regexp.MustCompile(`(?i)^[^=]*(?:key|token|secret|pass|_pwd|auth|cred)|://[^/@\s]*:[^/@\s]+@`)

// notKey matches words that are no keys in the name of a variable.
var notKey = regexp.MustCompile(`(?i)tokeniz|passage|keyword|author(?:s|$)`)

// HoldsKey reports whether an environment variable looks as if it held a key.
func HoldsKey(name, value string) bool {
	return keyNamed.MatchString(notKey.ReplaceAllString(name, " ")+"="+value) || keyLike.MatchString(value)
}

// hex matches an escaped byte of a URL.
var hex = regexp.MustCompile(`%[0-9A-F]{2}`)

// Keys are secrets that no error and no answer may show.
type Keys []Key

// A Key is a secret with its [Forms], which are made once and not for each answer.
type Key struct {
	secret string
	forms  []string
}

// NewKeys returns the keys with these texts; empty ones hide nothing.
func NewKeys(secrets ...string) Keys {
	var k Keys
	for _, s := range secrets {
		if s != "" {
			k = append(k, Key{s, Forms(s)})
		}
	}
	return k
}

// Forms are the texts that show a key, the longest first: the key, words of 16 characters
// and more of one with spaces or lines (also lines written as \n), as a private key has
// them, and these as JSON, URLs and base64 write them.
func Forms(key string) []string {
	list := []string{key}
	for _, word := range strings.Fields(strings.ReplaceAll(key, `\n`, "\n")) {
		if len(word) >= 16 {
			list = append(list, word)
		}
	}
	for _, s := range slices.Clone(list) {
		plain, _ := eval.EncodeJSON(s) // a text is always JSON
		html, _ := json.Marshal(s)
		for _, quoted := range []string{string(plain), string(html)} {
			quoted = quoted[1 : len(quoted)-1]
			list = append(list, quoted, strings.ReplaceAll(quoted, "/", `\/`), ascii(quoted))
		}
		all := url.QueryEscape(s)
		for _, escaped := range []string{all, url.PathEscape(s), strings.ReplaceAll(all, "%2F", "/")} { // the last as Python's quote
			list = append(list, escaped, hex.ReplaceAllStringFunc(escaped, strings.ToLower)) // and as .NET's UrlEncode
		}
	}
	for i, foreign := range []int{0, 2, 3} { // characters that what stands before the key has a part in
		code := base64.RawStdEncoding.EncodeToString([]byte("::"[:i] + key))[foreign:]
		if (i+len(key))%3 != 0 { // and what stands after it
			code = code[:max(0, len(code)-1)]
		}
		list = append(list, code, strings.NewReplacer("+", "-", "/", "_").Replace(code))
	}
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(slices.DeleteFunc(list, func(s string) bool { return len(s) < 8 && s != key }))
}

// ascii escapes all other characters of a JSON text.
func ascii(quoted string) string {
	var b strings.Builder
	for _, r := range quoted {
		if r < 0x80 {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// Without removes a key in all its forms from a text.
func (k Key) Without(text string) string {
	for _, form := range k.forms {
		text = strings.ReplaceAll(text, form, "[key]")
	}
	return text
}

// scrub removes the keys, and anything that looks like a key, from a text.
func (k Keys) scrub(text string) string {
	for _, key := range k {
		if len(key.secret) >= 8 {
			text = key.Without(text)
		} else { // a short key may be part of a word
			text = regexp.MustCompile(`\b`+regexp.QuoteMeta(key.secret)+`\b`).ReplaceAllLiteralString(text, "[key]")
		}
	}
	return keyLike.ReplaceAllString(text, "[key]")
}

// Scrub removes the keys from what a server or a program sent. It comes before the text is
// decoded, made one line or cut, which would leave a part of a key that nobody recognizes.
// Of answers it removes those of [Keys.CleanAnswer] only.
func (k Keys) Scrub(sent []byte, answer bool) []byte {
	for _, key := range k {
		if key.certain() || !answer && len(key.secret) >= 8 {
			if slices.ContainsFunc(key.forms, func(form string) bool { return bytes.Contains(sent, []byte(form)) }) {
				sent = []byte(key.Without(string(sent)))
			}
		}
	}
	return sent
}

// Longest is the length of the longest text that shows a key.
func (k Keys) Longest() int {
	most := 0
	for _, key := range k {
		most = max(most, len(key.forms[0]))
	}
	return most
}

// ScrubExchange removes the keys from a body, and from one that broke off what may be the beginning of a key.
func (k Keys) ScrubExchange(x *Exchange) {
	x.Body = k.Scrub(x.Body, x.Status/100 == 2)
	if x.Err != nil {
		x.Body = x.Body[:max(0, len(x.Body)-k.Longest())]
	}
}

// Clean makes sure that no key shows in an error.
func (k Keys) Clean(e *Error) *Error {
	e.Message, e.Remedy, e.RequestID = k.scrub(e.Message), k.scrub(e.Remedy), k.scrub(e.RequestID)
	if e.Err != nil {
		e.Err = &scrubbed{text: k.scrub(e.Err.Error()), err: e.Err}
	}
	return e
}

// CleanAnswer removes the keys from an answer, which some servers repeat:
// answers are stored, exported and shown. It looks for the keys alone, because an
// answer may well speak of keys.
func (k Keys) CleanAnswer(r *eval.Response) {
	for _, key := range k {
		if !key.certain() {
			continue
		}
		for _, s := range []*string{&r.Text, &r.StopReason, &r.Refusal, &r.ModelVersion, &r.RequestID} {
			*s = key.Without(*s)
		}
		for i := range r.ToolCalls {
			c := &r.ToolCalls[i]
			c.ID, c.Name, c.Arguments = key.Without(c.ID), key.Without(c.Name), Keys{key}.Scrub(c.Arguments, true)
		}
	}
}

// certain reports whether a key can be removed from an answer. One that could be a word, such
// as "anything" for a local server, would change answers.
func (k Key) certain() bool {
	return len(k.secret) >= 16 || len(k.secret) >= 8 && strings.ContainsFunc(k.secret, unicode.IsDigit)
}

// scrubbed is an error whose text contains no key; errors.Is still finds the
// wrapped error.
type scrubbed struct {
	text string
	err  error
}

func (s *scrubbed) Error() string { return s.text }
func (s *scrubbed) Unwrap() error { return s.err }
