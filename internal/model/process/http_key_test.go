package process

import (
	"strings"
	"testing"
)

// A key in an address would be kept with every request.
func TestHTTPRefusesKeysInAddresses(t *testing.T) {
	for _, address := range []string{"http://host/x?api_key=SECRET", "http://host/?a=1&Access-Token=SECRET", "https://host/x?key=SECRET"} {
		if _, err := NewHTTP(address, nil); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := NewHTTP("http://host/x?lang=en", nil); err != nil {
		t.Error(err)
	}
}
