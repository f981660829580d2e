package codetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	linkOf   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	textOf   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// TestLinks: every link in a document leads to a file of the repository, and to a heading of it.
func TestLinks(t *testing.T) {
	list, err := exec.Command("git", "-C", "../..", "ls-files", "*.md").Output()
	if err != nil {
		t.Skip("not in a repository of git")
	}
	lines := map[string][]string{} // outside of code
	for _, file := range strings.Fields(string(list)) {
		if strings.Contains(file, "testdata") {
			continue
		}
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		code := false
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "```") {
				code = !code
			} else if !code {
				lines[file] = append(lines[file], line)
			}
		}
	}
	for file, text := range lines {
		for _, line := range text {
			for _, m := range linkOf.FindAllStringSubmatch(line, -1) {
				path, anchor, _ := strings.Cut(m[1], "#")
				if strings.Contains(m[1], ":") {
					continue
				}
				to := file
				if path != "" {
					to = filepath.ToSlash(filepath.Join(filepath.Dir(file), path))
				}
				if _, err := os.Stat(filepath.Join("../..", to)); err != nil {
					t.Errorf("%s: %s leads to no file", file, m[1])
				} else if anchor != "" && strings.HasSuffix(to, ".md") && !hasHeading(lines[to], anchor) {
					t.Errorf("%s: %s leads to no heading", file, m[1])
				}
			}
		}
	}
}

// hasHeading reports whether a heading has the anchor that GitHub gives it.
func hasHeading(lines []string, anchor string) bool {
	for _, line := range lines {
		if title := strings.TrimLeft(line, "#"); title != line {
			title = strings.ToLower(textOf.ReplaceAllString(strings.TrimSpace(title), "$1"))
			if strings.ReplaceAll(noAnchor.ReplaceAllString(title, ""), " ", "-") == anchor {
				return true
			}
		}
	}
	return false
}
