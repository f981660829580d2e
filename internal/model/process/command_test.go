package process

import (
	"testing"
)

func TestWhatCommandsGet(t *testing.T) {
	for name, want := range map[string]bool{
		"PATH": true, "HOME": true, "LANG": true, "LC_CTYPE": true, "TMPDIR": true, "TZ": true, "PYTHONPATH": true,
		"OPENAI_API_KEY": false, "openrouter_api_key": false, "HF_TOKEN": false, "COMPANY_LLM": false, "DATABASE_URL": false,
		"SSH_AUTH_SOCK": false, "HTTPS_PROXY": false, "OPENAI_BASE_URL": false, "path": false, "": false,
	} {
		if got := passes(name, []string{"PYTHONPATH"}, false); got != want {
			t.Errorf("passes(%q) = %v, want %v", name, got, want)
		}
	}
}
