package request

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func leaf(aspect string) *Node { return &Node{Aspect: aspect} }

func hop(hops int, pattern string, names ...string) *Node {
	return &Node{Evidence: &Evidence{Kind: SocialFilter, Hops: hops, Names: names, Pattern: pattern}}
}

func join(op string, args ...*Node) *Node { return &Node{Op: op, Args: args} }

func TestShorthand(t *testing.T) {
	tests := []struct {
		text string
		want *Node
		same bool // printed as it was written
	}{
		{"AND(a, OR(b, c))", join(And, leaf("a"), join(Or, leaf("b"), leaf("c"))), true},
		{"drive_thru", leaf("drive_thru"), true},
		{"NOT(x)", join(Not, leaf("x")), true},
		{"AND(a, OR(AND(b, c), AND(d, e)))", join(And, leaf("a"), join(Or, join(And, leaf("b"), leaf("c")), join(And, leaf("d"), leaf("e")))), true},
		{"1HOP(['Alice'], 'cozy')", hop(1, "cozy", "Alice"), true},
		{"2HOP(['Alice', 'Bob B.'], 'vanilla bean|taro')", hop(2, "vanilla bean|taro", "Alice", "Bob B."), true},
		{"0HOP(['Alice'])", hop(0, "", "Alice"), true},
		{`1HOP(['O\'Neil'], '\\bwork\\b')`, hop(1, `\bwork\b`, "O'Neil"), true},
		{`1HOP(["O'Neil",], "\bwork")`, hop(1, `\bwork`, "O'Neil"), false},
		{"AND(free WiFi, review_meta_*)", join(And, leaf("free WiFi"), leaf("review_meta_*")), true},
		{"AND('a, b', \"c\")", join(And, leaf("a, b"), leaf("c")), false},
		{" AND ( a ,b, ) ", join(And, leaf("a"), leaf("b")), false},
		{"AND(AND, OR)", join(And, leaf("AND"), leaf("OR")), true}, // aspects, since nothing is joined
		{"OR(größe, 価格)", join(Or, leaf("größe"), leaf("価格")), true},
	}
	for _, tt := range tests {
		got, err := ParseShorthand(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got, sameValue); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
		if printed := got.Shorthand(); tt.same && printed != tt.text {
			t.Errorf("%s is printed as %s", tt.text, printed)
		}
	}
}

func TestShorthandRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "column 1: want an aspect or an operator, got the end",
		"AND()":                 "column 1: AND of 0 conditions: want at least one",
		"AND(a, XOR(b))":        `column 8: unknown operator "XOR": want AND, OR, NOT, 0HOP, 1HOP or 2HOP`,
		"and(a, b)":             `column 1: unknown operator "and"`,
		"3HOP(['A'], 'x')":      `column 1: unknown operator "3HOP"`,
		"NOT(a, b)":             "column 1: NOT of 2 conditions: want one",
		"AND(a, b":              "column 9: want ')', got the end",
		"AND(a b) c":            `column 10: 'c' follows the end`,
		"AND(a,, b)":            "column 7: want an aspect or an operator, got ','",
		"a, b":                  "column 2: ',' follows the end",
		"1HOP('Alice', 'x')":    `column 6: want '[', got '\''`,
		"1HOP([], 'x')":         "column 7: want a text in quotes, got ']'",
		"1HOP(['A'], cozy)":     "column 13: want a text in quotes, got 'c'",
		"1HOP(['A'], 'x', 'y')": "want ')', got ','",
		"AND('a":                "column 5: unterminated text",
		"AND('')":               "empty aspect",
		"ä(b)":                  `column 1: unknown operator "ä"`,
		strings.Repeat("NOT(", 100) + "a" + strings.Repeat(")", 100): "nested more than 64 levels deep",
	} {
		if n, err := ParseShorthand(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want …%s", in, n, err, want)
		}
	}
}

// drawTree draws a tree of shorthand.
func drawTree(t *rapid.T, depth int) *Node {
	kinds := []string{"leaf", "leaf", "social"}
	if depth > 0 {
		kinds = append(kinds, And, Or, Not)
	}
	switch op := rapid.SampledFrom(kinds).Draw(t, "node"); op {
	case "leaf":
		return leaf(rapid.StringN(1, 12, -1).Draw(t, "aspect"))
	case "social":
		names := rapid.SliceOfN(rapid.String(), 1, 3).Draw(t, "names")
		return hop(rapid.IntRange(0, 2).Draw(t, "hops"), rapid.String().Draw(t, "pattern"), names...)
	case Not:
		return join(Not, drawTree(t, depth-1))
	default:
		n := join(op)
		for range rapid.IntRange(1, 3).Draw(t, "parts") {
			n.Args = append(n.Args, drawTree(t, depth-1))
		}
		return n
	}
}

func TestShorthandRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawTree(t, 4)
		text := n.Shorthand()
		back, err := ParseShorthand(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(n, back, sameValue); diff != "" {
			t.Fatalf("%s (-drawn +read):\n%s", text, diff)
		}
	})
}

func FuzzShorthand(f *testing.F) {
	for _, s := range []string{"AND(a, OR(b, c))", "1HOP(['Alice'], 'cozy')", `AND("x\"", NOT(y z))`, "2HOP([\"a\",'b'],'\\b')"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseShorthand(s)
		if err != nil {
			return
		}
		back, err := ParseShorthand(n.Shorthand())
		if err != nil || cmp.Diff(n, back, sameValue) != "" {
			t.Fatalf("%q is printed as %q (%v)", s, n.Shorthand(), err)
		}
	})
}
