package text

import "testing"

// A code and a sign may stand together.
func TestCodeAndSign(t *testing.T) {
	for _, s := range []string{"USD $1,234.56", "$1,234.56 USD", "US$ 1,234.56", "EUR 1.234,56 €", "1,234.56 TND"} {
		if !Equal(Money, s, "1234.56") {
			t.Errorf("%q is not 1234.56", s)
		}
	}
}
