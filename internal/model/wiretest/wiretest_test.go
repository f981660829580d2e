package wiretest

import "testing"

// The counts are those of the collection: 1,185 exchanges less 324 streamed
// ones. A recording that is added or lost shows here.
func TestRecordings(t *testing.T) {
	answers, errors := map[string]int{}, map[string]int{}
	all := Recordings(t)
	for _, e := range all {
		format, err := e.Format()
		if err != nil {
			t.Error(err)
		}
		if e.Status >= 400 {
			errors[format]++
		} else {
			answers[format]++
		}
	}
	if len(all) != 861 {
		t.Errorf("%d recordings, want 861", len(all))
	}
	check := func(kind string, got, want map[string]int) {
		for format, n := range want {
			if got[format] != n {
				t.Errorf("%s in format %q: %d, want %d", kind, format, got[format], n)
			}
		}
	}
	check("answers", answers, map[string]int{"anthropic": 169, "openai": 244, "openai_responses": 184, "google": 167, "": 55})
	check("errors", errors, map[string]int{"anthropic": 2, "openai": 11, "openai_responses": 7, "google": 4, "": 18})
}
