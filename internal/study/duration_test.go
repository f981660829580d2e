package study

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDurations(t *testing.T) {
	good := map[string]time.Duration{
		`"30s"`: 30 * time.Second, `"1m30s"`: 90 * time.Second, `"500ms"`: 500 * time.Millisecond, `"1.5h"`: 90 * time.Minute,
		`"0"`: 0, `0`: 0, `60`: time.Minute, `0.25`: 250 * time.Millisecond, `"90"`: 90 * time.Second, `1e2`: 100 * time.Second, `1e-9`: 1,
	}
	for in, want := range good {
		var d Duration
		if err := json.Unmarshal([]byte(in), &d); err != nil || d.D() != want {
			t.Errorf("%s in JSON: got %v, %v; want %v", in, d, err, want)
		}
	}
	for _, in := range []string{`"-1s"`, `-1`, `"1d"`, `"30 s"`, `""`, `"s"`, `true`, `[1]`, `"1e30"`, `1e30`, `"99999999h"`} {
		var d Duration
		if err := json.Unmarshal([]byte(in), &d); err == nil {
			t.Errorf("%s in JSON: got %v, want an error", in, d)
		}
	}
}

// Whatever the schema's pattern accepts can be read.
func TestDurationPatternAgrees(t *testing.T) {
	if _, err := parseDuration("999999.999999999h999999.9m999999999.9s999999999.9ms999999999.9µs999999999ns"); err != nil {
		t.Errorf("the longest duration: %v", err)
	}
	pattern := regexp.MustCompile(durationPattern)
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(durationPattern).Draw(t, "duration")
		if s == "" { // MinLength sees to it
			return
		}
		if _, err := parseDuration(s); err != nil {
			t.Fatal(err)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		d := Duration(rapid.Int64Range(0, int64(999_999*time.Hour)).Draw(t, "d"))
		if !pattern.MatchString(d.String()) {
			t.Fatalf("%v does not match the pattern", d)
		}
	})
}

// A duration survives being written and read.
func TestDurationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Duration(rapid.Int64Min(0).Draw(t, "d"))
		data, err := json.Marshal(want)
		var got Duration
		if err == nil {
			err = json.Unmarshal(data, &got)
		}
		if err != nil || got != want {
			t.Fatalf("%s is read as %v, %v; want %v", data, got, err, want)
		}
	})
}
