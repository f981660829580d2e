package main

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	const commit = "2e5f1ee0c1f1d1a1b1c1d1e1f1a1b1c1d1e1f1a1"
	build := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	revision, changed := debug.BuildSetting{Key: "vcs.revision", Value: commit}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for _, test := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{build(""), "dev"},
		{build("(devel)"), "dev"},
		{build("v1.2.3"), "v1.2.3"},
		{build("(devel)", revision), "dev (2e5f1ee0c1f1)"},
		{build("v1.2.3", revision), "v1.2.3 (2e5f1ee0c1f1)"},
		{build("v0.0.0-20261122120000-2e5f1ee0c1f1", revision), "v0.0.0-20261122120000-2e5f1ee0c1f1"},
		{build("v0.0.0-20261122120000-2e5f1ee0c1f1+dirty", revision, changed), "v0.0.0-20261122120000-2e5f1ee0c1f1+dirty"},
		{build("(devel)", revision, changed), "dev (2e5f1ee0c1f1) with changes"},
	} {
		if got := versionOf(test.info); got != test.want {
			t.Errorf("version of %+v is %q, want %q", test.info, got, test.want)
		}
	}
}
