package limited

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// reader does what the file says.
var reader = Reader{Name: "test", Memory: 96 << 20, Time: 2 * time.Second, Read: func(data []byte, option string) ([]byte, error) {
	switch string(data) {
	case "memory":
		var all [][]byte
		for range 1 << 20 {
			all = append(all, make([]byte, 1<<20))
		}
		return all[0], nil
	case "stack":
		return []byte{deep(0)}, nil
	case "loop":
		select {}
	case "keys":
		return []byte(strings.Join(os.Environ(), "\n")), nil
	case "bad":
		return nil, errors.New("the file is bad")
	}
	return append(data, option...), nil
}}

// deep needs more stack than there is.
func deep(n int) byte {
	var frame [1024]byte
	if n == 1<<30 {
		return 0
	}
	frame[n%1024] = deep(n + 1)
	return frame[(n+1)%1024]
}

func TestMain(m *testing.M) {
	Host(reader)
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	t.Setenv("SECRET_KEY", "x")
	for data, want := range map[string]string{"text": "text, option", "keys": ""} {
		if got, err := reader.Run([]byte(data), map[bool]string{true: ", option"}[data == "text"]); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", data, got, err)
		}
	}
	if _, err := reader.Run([]byte("bad"), ""); err == nil || err.Error() != "the file is bad" {
		t.Error(err)
	}
	for data, want := range map[string]string{"memory": "more than 96 MB of memory", "stack": "more than 96 MB", "loop": "takes longer than 2s"} {
		var e Exceeded
		if _, err := reader.Run([]byte(data), ""); !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", data, err)
		}
	}
}

// A Ctrl-C, which ends the reading process too, says nothing about the file.
func TestInterrupted(t *testing.T) {
	for signal, want := range map[string]bool{"INT": true, "TERM": true, "KILL": false} {
		var ended *exec.ExitError
		if err := exec.Command("sh", "-c", "kill -"+signal+" $$").Run(); !errors.As(err, &ended) {
			t.Skipf("no shell that ends itself: %v", err)
		}
		if got := interrupted(ended); got != want {
			t.Errorf("%s: got %v, want %v", signal, got, want)
		}
	}
}
