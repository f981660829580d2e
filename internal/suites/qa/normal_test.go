package qa

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestNumbersInText: marks that belong to a number count, others do not.
func TestNumbersInText(t *testing.T) {
	for _, test := range []struct {
		gold, reply string
		right       bool
	}{
		{"-5", "5", false}, {"-5", "−5", true}, {"-5", "It: -5.", false}, {"-5", "**-5**", true}, {"-5", "(-5)", true}, {"-5", "–5", true}, {"5", "+5", true}, {"-5", "\u20115", true}, {"5", "—5", true}, {"No..5", "No5", true},
		{"-$5", "$5", false}, {"-$5", "$-5", true}, {"-€5", "€5", false}, {"-∞", "∞", false}, {"x = -5", "x = 5", false}, {"x=-5", "x=5", false}, {"-½", "½", false},
		{"− 5", "5", false}, {"x−5", "x5", false},
		{"1.25", "12.5", false}, {"1.25", "125", false}, {"1.25", "1.25.", true}, {"1.25", "1,25", true}, {"1.25", "$1.25", true}, {"-1.25", "1.25", false}, {"p < .05", "p < 05", false}, {"p<.05", "p<0.05", true},
		{".5", "5", false}, {".5", "0.5", true}, {"-.5", ".5", false}, {"...5", "5", true},
		{"1,000", "1000", true}, {"1,000", "1'000", true}, {"1,234,567.5", "1234567.5", true}, {"1.000", "1000", false}, {"1,5", "15", false}, {"1,2,3", "123", false},
		{"1/2", "12", false}, {"1/2", "1/2.", true}, {"24/7", "247", false}, {"1-2", "12", false}, {"10-12", "10–12", true}, {"10%-15%", "10-15%", true}, {"1:30", "130", false}, {"2^10", "210", false}, {"2*3", "23", false}, {"5%6", "56", false},
		{"1.2.3", "1.23", false}, {"2020-01-05", "20200105", false}, {"1e-5", "1e5", false}, {"1e+5", "1e5", true}, {"1E−5", "1e-5", true}, {"10^-3", "10^3", false},
		// words, as SQuAD has them
		{"COVID-19", "covid19", true}, {"F-16", "F16", true}, {"the 5-year plan", "5year plan", true}, {"U.S.", "us", true}, {"No.5", "No5", true}, {"$5", "5", true}, {"5%", "5", true}, {"18+", "18", true}, {"x_1", "x1", true}, {"5, 6", "5 6", true}, {"- 5", "5", true}, {"[5].", "5", true}, {"C++", "c", true},
	} {
		checkNormalized(t, test.gold, test.reply, test.right)
	}
}

// checkNormalized checks what normalized says of a reply: by score, majority and tokens alike.
func checkNormalized(t *testing.T, gold, reply string, want bool) {
	t.Helper()
	q, err := parse(cells{"question": {"?"}, "answer": {gold}}, matchNormalized)
	if err != nil {
		t.Fatal(err)
	}
	mine, _ := q.read(gold)
	key, _ := q.read(reply)
	if right, f1 := q.right(reply), q.tokenF1(reply); right != want || (key == mine) != right || (f1 == 1) != right {
		t.Errorf("gold %q, reply %q: right is %v, F1 %v, keys %q and %q; want %v", gold, reply, right, f1, mine, key, want)
	}
}

// TestLetters: a letter is the same in each of its forms in Unicode, and no number becomes another.
func TestLetters(t *testing.T) {
	for _, test := range []struct {
		match, gold, reply string
		right              bool
	}{
		{matchExact, "Zürich", "Zu\u0308rich", true}, {matchExact, "Zu\u0308rich", "Zürich", true}, {matchExact, "Zürich", "ZÜRICH", false}, {matchExact, "Zürich", "Zurich", false},
		{matchExact, "ﬁne", "fine", false}, {matchExact, "Ａ", "A", false},
		{matchNormalized, "Zürich", "ZU\u0308RICH", true}, {matchNormalized, "Zürich", "ＺÜＲＩＣＨ", true}, {matchNormalized, "Zürich", "Zurich", false},
		{matchNormalized, "Straße", "STRASSE", true}, {matchNormalized, "ﬁne", "fine", true}, {matchNormalized, "İzmir", "izmir", true}, {matchNormalized, "ΟΔΟΣ", "οδός", false}, {matchNormalized, "ΟΔΟΣ", "οδος", true},
		{matchNormalized, "5", "５", true}, {matchNormalized, "1.5", "１．５", true}, {matchNormalized, "15", "１．５", false}, {matchNormalized, "-5", "－５", true}, {matchNormalized, "٥", "5", true}, {matchNormalized, "1٫5", "1.5", true},
		{matchNormalized, "10²", "102", false}, {matchNormalized, "10⁻³", "10³", false}, {matchNormalized, "10⁻³", "10-3", false}, {matchNormalized, "1½", "11/2", false},
		{matchChoice, "Zürich", "Zu\u0308rich", true}, {matchChoice, "Zu\u0308rich", "Zürich", true}, {matchChoice, "Zürich", "zürich", true}, {matchChoice, "Zürich", "Bern", false},
		{matchNumeric, "5", "٥", true}, {matchNumeric, "1250.5", "١٬٢٥٠٫٥", true}, {matchNumeric, "5", "５", true}, {matchNumeric, "102", "10²", false},
	} {
		c := cells{"question": {"?"}, "answer": {test.gold}, "match": {test.match}}
		if test.match == matchChoice {
			c["choices"] = []string{"Zürich", "Bern"}
		}
		q, err := parse(c, matchNormalized)
		if err != nil {
			t.Fatal(err)
		}
		key, malformed := q.read(test.reply)
		if right := q.right(test.reply); malformed != "" || right != test.right || (test.match == matchExact || test.match == matchNormalized) && (key == q.key()) != right {
			t.Errorf("%s: gold %q, reply %q: right is %v, key %q, gold's %q, malformed %q; want %v", test.match, test.gold, test.reply, right, key, q.key(), malformed, test.right)
		}
	}
}

// Two different numbers are never equal, however they are written, and marks around one make no
// difference.
func TestNumbersDiffer(t *testing.T) {
	digits := rapid.StringMatching(`[12][0-2]{0,4}|0`) // few, so that marks alone tell numbers apart
	written := rapid.Custom(func(t *rapid.T) (n struct {
		text  string
		value *big.Rat
	}) {
		whole, value := digits.Draw(t, "whole"), ""
		n.text, value = whole, whole
		if mark := rapid.SampledFrom([]string{"", ",", "'", "’"}).Draw(t, "thousands"); mark != "" {
			for at := len(whole) - 3; at > 0; at -= 3 {
				n.text = n.text[:at] + mark + n.text[at:]
			}
		}
		switch rapid.IntRange(0, 4).Draw(t, "form") {
		case 0:
			decimals := rapid.StringMatching(`[0-2]{1,4}`).Draw(t, "decimals")
			n.text, value = n.text+"."+decimals, value+"."+decimals
		case 1:
			decimals := rapid.StringMatching(`[0-2]{1,2}`).Draw(t, "decimals")
			n.text, value = whole+","+decimals, value+"."+decimals
		case 2:
			under := rapid.StringMatching(`[12][0-2]?`).Draw(t, "under")
			n.text, value = n.text+"/"+under, value+"/"+under
		case 3:
			power := rapid.SampledFrom([]string{"e2", "e-2", "E-3"}).Draw(t, "power")
			n.text, value = whole+power, value+power
		}
		if rapid.Bool().Draw(t, "negative") {
			n.text, value = rapid.SampledFrom([]string{"-", "−", "–"}).Draw(t, "sign")+n.text, "-"+value
		} else {
			n.text = rapid.SampledFrom([]string{"", "+"}).Draw(t, "plus") + n.text
		}
		n.value, _ = new(big.Rat).SetString(value)
		return n
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := written.Draw(t, "a"), written.Draw(t, "b")
		around := rapid.SampledFrom([]string{"X", "**X**", "(X)", `"X"`, "$X", "X.", "X%", "the X!", "[X]:"}).Draw(t, "around")
		if a.value.Cmp(b.value) != 0 && normal(a.text) == normal(strings.Replace(around, "X", b.text, 1)) {
			t.Fatalf("%q and %q in %s are equal: %q", a.text, b.text, around, normal(a.text))
		}
		if normal(a.text) != normal(strings.Replace(around, "X", a.text, 1)) {
			t.Fatalf("%q is another number in %s", a.text, around)
		}
	})
}
