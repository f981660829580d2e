package study

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSuggest(t *testing.T) {
	for _, tt := range []struct {
		known []string
		want  string
	}{
		{nil, "none are defined"}, {[]string{"one"}, "want one"}, {[]string{"two", "one", "two"}, "want one of one, two"},
		{[]string{"xyzzy"}, `did you mean "xyzzy"?`},
	} {
		if got := suggest("xyzz", tt.known); got != tt.want {
			t.Errorf("among %v: %s, want %s", tt.known, got, tt.want)
		}
	}
}

func TestFindSecrets(t *testing.T) {
	for text, want := range map[string]int{
		"sk-proj-0123abcdEFGH_-": 1, "sk-ant-api03-x": 1, "sk-0123456789abcdef": 1, "key: AIzaSyA-0123456789_abcdefghijklmnop": 1,
		"gsk_0123456789abcdefghij": 1, "hf_abcdefghijklmnop1234": 1, "xai-0123456789abcdefghij": 1,
		"sk-0123456789ab and sk-ba9876543210": 2,
		// Words of studies.
		"sk-learn-pipeline": 0, "task-2024-long-name": 0, "risk-assessment-2024-contracts": 0, "sk-v2": 0, "AIza": 0,
		"OPENAI_API_KEY": 0, "claude-sonnet-4-20250514": 0, "gpt-4.1-2025-04-14": 0, "kernels/ctn_v2.txt": 0,
	} {
		if got := len(findSecrets(text)); got != want {
			t.Errorf("%q holds %d keys, want %d", text, got, want)
		}
	}
}

// A key that was pasted, wherever in a study or an override it was pasted, is
// refused and is not in the error.
func TestKeysAreNeverShown(t *testing.T) {
	places := []string{
		"name: n\nsuite: s\nmodels:\n  - {id: a, provider: p, api_key_env: %s}\n",
		"name: n\nsuite: s\nmodels:\n  - {id: a, provider: p, api_key: %s}\n",
		"name: %s\nsuite: s\n", "name: n\nsuite: [%s]\n", "name: n\nsuite: s\n%s: 1\n", "name: n\nsuite: s # %s\n",
		"name: n\nsuite: s\nexecution: {concurrency: %s, timeout: %[1]s}\n", "name: n\nsuite: s\nx: [%s\n", "%s", "a: *%s\n", "a: !%s x\n",
	}
	overrides := []string{"models[0].api_key_env=%s", "%s=1", "models[%s].name=x", "%s", "name=[%s", "suite=*%s"}
	key := rapid.OneOf(
		rapid.StringMatching(`sk-(ant|proj)-[A-Za-z0-9]{8,40}7`),
		rapid.StringMatching(`sk-[A-Za-z0-9_-]{20,48}4[a-z]`),
		rapid.StringMatching(`AIzaSy[A-Za-z0-9_-]{32}1`),
	)
	rapid.Check(t, func(t *rapid.T) {
		k := key.Draw(t, "key")
		_, _, err := loadText(fmt.Sprintf(rapid.SampledFrom(places).Draw(t, "place"), k))
		if err == nil || strings.Contains(err.Error(), k) || strings.Contains(err.Error(), k[7:]) {
			t.Fatalf("in the file: %v", err)
		}
		_, _, err = loadText(contractsYAML, fmt.Sprintf(rapid.SampledFrom(overrides).Draw(t, "override"), k))
		if err == nil || strings.Contains(err.Error(), k) || strings.Contains(err.Error(), k[7:]) {
			t.Fatalf("as an override: %v", err)
		}
	})
}

// What could be a key of an unknown form is not shown where keys are pasted.
func TestVariableNamesAreNotEchoed(t *testing.T) {
	const secret = "0f3a9c55deadbeef"
	for _, o := range []string{"models[0].api_key_env=" + secret, "models[0]={id: a, provider: p, api_key_env: " + secret + ", extra: 1}"} {
		if _, _, err := loadText(contractsYAML, o); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", o, err)
		}
	}
	_, _, err := loadText(minimal("models: [{id: a, provider: p, api_key_env: " + secret + "}]"))
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("in the file: %v", err)
	}
}
