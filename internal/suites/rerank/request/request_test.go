package request

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

var sameValue = cmpopts.IgnoreUnexported(Evidence{})

// one reads evidence that stands alone in a request.
func one(evidence string) (*Evidence, error) {
	r, errs := decode([]byte(`{"id":"R1","group":"G01","text":"t","gold":"g","structure":{"aspect":"a","evidence":` + evidence + `}}`))
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return r.Structure.Evidence, nil
}

func TestEvidence(t *testing.T) {
	for in, want := range map[string]*Evidence{
		`{"kind":"item_meta","path":"attributes.WiFi","true":"u'free'"}`:                                   {Kind: ItemMeta, Path: "attributes.WiFi", Test: IsTrue, Value: "u'free'"},
		`{"kind":"item_meta","path":"attributes.HasTV","true":false}`:                                      {Kind: ItemMeta, Path: "attributes.HasTV", Test: IsTrue, Value: false},
		`{"kind":"item_meta","path":"a","false":"x","missing":-1}`:                                         {Kind: ItemMeta, Path: "a", Test: IsFalse, Value: "x", Missing: -1},
		`{"kind":"item_meta","path":"a","true":"x","false":"y","neutral":"z"}`:                             {Kind: ItemMeta, Path: "a", Test: IsTrue, Value: "x", False: "y", Neutral: "z"},
		`{"kind":"item_meta","path":"a","not_contains":"x"}`:                                               {Kind: ItemMeta, Path: "a", Test: NotContains, Value: "x"},
		`{"kind":"item_meta","path":"a"}`:                                                                  {Kind: ItemMeta, Path: "a"},
		`{"kind":"item_meta","path":"price","lte":1000}`:                                                   {Kind: ItemMeta, Path: "price", Test: AtMost, Value: float64(1000)},
		`{"kind":"item_meta","path":"price","gte":0,"missing":-1}`:                                         {Kind: ItemMeta, Path: "price", Test: AtLeast, Value: float64(0), Missing: -1},
		`{"kind":"item_meta","path":"size","between":[13,14.5]}`:                                           {Kind: ItemMeta, Path: "size", Test: Between, Value: []any{float64(13), float64(14.5)}},
		`{"kind":"item_meta_hours","day":"friday","from":"22:00","to":"1:30","missing":1}`:                 {Kind: ItemMetaHours, Day: "Friday", From: "22:00", To: "1:30", Missing: 1},
		`{"kind":"review_text","pattern":"x","weight_by":"fans","percentile":0}`:                           {Kind: ReviewText, Pattern: "x", WeightBy: "fans", Percentile: 0, MinCredible: 2},
		`{"kind":"social_filter","names":["A"],"pattern":"x","hops":null,"min_matches":3}`:                 {Kind: SocialFilter, Pattern: "x", Names: []string{"A"}, Hops: 1, MinMatches: 3},
		`{"kind":"item_meta_hours","day":"Monday","from":"0:0","to":"0:0"}`:                                {Kind: ItemMetaHours, Day: "Monday", From: "0:0", To: "0:0"},
		`{"kind":"review_text","pattern":"cozy|snug"}`:                                                     {Kind: ReviewText, Pattern: "cozy|snug"},
		`{"kind":"review_text","pattern":"x","weight_by":"fans","percentile":90,"min_credible_matches":3}`: {Kind: ReviewText, Pattern: "x", WeightBy: "fans", Percentile: 90, MinCredible: 3},
		`{"kind":"social_filter","names":["A","B"],"hops":0}`:                                              {Kind: SocialFilter, Names: []string{"A", "B"}, Hops: 0, MinMatches: 1},
		`{"kind":"review_meta","path":"user.elite","not_empty":true}`:                                      {Kind: ReviewMeta, Path: "user.elite", Test: NotEmpty},
		`{"kind":"review_meta","path":"useful","gte":10,"agg":"count","count":3}`:                          {Kind: ReviewMeta, Path: "useful", Test: AtLeast, Value: float64(10), Aggregate: Count, Count: 3},
		`{"kind":"review_meta","path":"stars","lte":2.5,"min_stars":1,"agg":"all"}`:                        {Kind: ReviewMeta, Path: "stars", Test: AtMost, Value: float64(2.5), MinStars: 1, Aggregate: All},
		`{"kind":"review_meta","path":"user.fans"}`:                                                        {Kind: ReviewMeta, Path: "user.fans", Test: NotEmpty},
	} {
		got, err := one(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if diff := cmp.Diff(want, got, sameValue); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
		// What is written is read back the same.
		line := Line(Request{ID: "R1", Group: "G01", Text: "<t>", Gold: "g", Structure: &Node{Aspect: "a", Evidence: got}})
		back, errs := decode([]byte(line))
		if len(errs) > 0 || cmp.Diff(got, back.Structure.Evidence, sameValue) != "" {
			t.Errorf("%s (%v)\n%s", line, errs, cmp.Diff(got, back.Structure.Evidence, sameValue))
		}
	}
}

func TestEvidenceRefuses(t *testing.T) {
	for in, want := range map[string]string{
		`{"kind":"item_mata","path":"a"}`:                                                  "unknown kind of evidence: want item_meta, item_meta_hours",
		`{"kind":"item_meta","path":"a","pattern":"x"}`:                                    `unknown key "pattern"`,
		`{"kind":"item_meta","path":"a","treu":"x"}`:                                       `unknown key "treu"`,
		`{"kind":"item_meta","true":"x"}`:                                                  "missing path",
		`{"kind":"item_meta","path":"a","true":null}`:                                      "", // null is as if it were not given
		`{"kind":"item_meta","path":"a","true":"x","contains":"y"}`:                        "both true and contains are set",
		`{"kind":"item_meta","path":"a","true":"x","missing":2}`:                           "invalid missing 2: want -1, 0 or 1",
		`{"kind":"item_meta","path":7,"true":"x"}`:                                         "item_meta: path: want a string, got a number",
		`{"kind":"item_meta","path":"a","gte":1,"true":"x"}`:                               "both true and gte are set",
		`{"kind":"item_meta","path":"a","between":[1]}`:                                    "between needs two numbers",
		`{"kind":"item_meta","path":"a","between":[1,"2"]}`:                                "between needs two numbers",
		`{"kind":"item_meta","path":"a","between":[2,1]}`:                                  "between 2 and 1 is empty",
		`{"kind":"item_meta","path":"a","gte":1,"between":[1,2]}`:                          "both gte and between are set",
		`{"kind":"item_meta_hours","day":"Monday","from":"9:00","to":"9:00"}`:              "9:00-9:00 is empty",
		`{"kind":"item_meta_hours","day":"Monday","from":"9:00","to":"26:00"}`:             "not a time of day",
		`{"kind":"item_meta_hours","day":"Moonday","from":"7:00","to":"8:00"}`:             `"Moonday" is not a day`,
		`{"kind":"item_meta_hours","day":"Monday"}`:                                        "not a time of day",
		`{"kind":"item_meta","path":"a","gte":2,"lte":1}`:                                  "both gte and lte are set",
		`{"kind":"item_meta","path":"a","gte":"x"}`:                                        "gte needs a number",
		`{"kind":"review_meta","path":"a","gte":"x"}`:                                      "gte needs a number",
		`{"kind":"review_meta","path":"a","agg":"count","count":0}`:                        "invalid count 0: want at least 1",
		`{"kind":"review_text","pattern":"x","min_matches":2}`:                             `unknown key "min_matches"`,
		`{"kind":"social_filter","names":["A"],"min_matches":0}`:                           "invalid min_matches 0: want at least 1",
		`{"kind":"review_text"}`:                                                           "missing pattern",
		`{"kind":"review_text","pattern":"a(b"}`:                                           "pattern does not compile: error parsing regexp: missing closing ): `a(b`",
		`{"kind":"review_text","pattern":"a)(b"}`:                                          "pattern does not compile",
		`{"kind":"review_text","pattern":"(?=x)"}`:                                         "pattern does not compile",
		`{"kind":"review_text","pattern":"x","percentile":5}`:                              "require weight_by",
		`{"kind":"review_text","pattern":"x","weight_by":"fans","percentile":101}`:         "invalid percentile 101",
		`{"kind":"review_text","pattern":"x","weight_by":"fans","min_credible_matches":0}`: "want at least 1",
		`{"kind":"review_text","pattern":"x","weight_by":""}`:                              "has no field",
		`{"kind":"social_filter","hops":1}`:                                                "missing names",
		`{"kind":"social_filter","names":["A"],"hops":3}`:                                  "invalid hops 3: want 0, 1 or 2",
		`{"kind":"social_filter","names":["A"],"pattern":"("}`:                             "does not compile",
		`{"kind":"review_meta","path":"a","gte":1,"lte":2}`:                                "both gte and lte are set",
		`{"kind":"review_meta","path":"a","not_empty":false}`:                              "put the condition into NOT",
		`{"kind":"review_meta","path":"a","agg":"some"}`:                                   "unknown aggregation",
		`{"kind":"review_meta","path":"a","count":2}`:                                      "count requires agg count",
		`{"kind":"review_meta","gte":1}`:                                                   "missing path",
	} {
		_, err := one(in)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", in, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant …%s", in, err, want)
		}
	}
}

const tv = `{"aspect":"tv","evidence":{"kind":"item_meta","path":"a","true":true}}`

func TestStructureErrors(t *testing.T) {
	deep := strings.Repeat(`{"op":"NOT","args":[`, 70) + tv + strings.Repeat("]}", 70)
	for in, want := range map[string]string{
		`{"op":"XOR","args":[` + tv + `]}`:                       `structure: unknown operator "XOR": want AND, OR or NOT`,
		`{"op":"AND","args":[` + tv + `,{"op":"OR","args":[]}]}`: "structure.args[1]: empty node: OR of 0 conditions: want at least one",
		`{"op":"AND"}`:                                  "structure: empty node: AND of 0 conditions",
		`{"op":"AND","args":[{}]}`:                      "structure.args[0]: empty node",
		`{"op":"AND","args":[null]}`:                    "structure.args[0]: empty node",
		`{"op":"NOT","args":[` + tv + `,` + tv + `]}`:   "structure: NOT of 2 conditions: want one",
		`{"args":[` + tv + `]}`:                         "args without op",
		`{"aspect":"tv"}`:                               `structure: "tv" has no evidence`,
		`{"op":"AND","aspect":"x","args":[` + tv + `]}`: "not both",
		`{"op":"AND","argz":[]}`:                        `unknown key "argz" in structure: did you mean "args"?`,
		deep:                                            "nested more than 64 levels deep",
	} {
		_, errs := decode([]byte(`{"id":"R1","group":"G01","text":"t","gold":"g","structure":` + in + `}`))
		if len(errs) == 0 || !strings.Contains(fmt.Sprint(errs), want) {
			t.Errorf("%.200s\ngot  %v\nwant …%s", in, errs, want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, bad := range []*Node{nil, {}, {Op: And}, {Op: "XOR", Args: []*Node{leaf("a")}}, leaf("a"), {Args: []*Node{leaf("a")}}, join(Not), join(And, nil)} {
		if len(Check(bad)) == 0 {
			t.Errorf("%+v is sound", bad)
		}
	}
}

// The shapes are those of the seed's table, and others that come near.
func TestLint(t *testing.T) {
	text := &Node{Aspect: "m", Evidence: &Evidence{Kind: ReviewText, Pattern: "x"}}
	credible := &Node{Aspect: "m", Evidence: &Evidence{Kind: ReviewText, Pattern: "x", WeightBy: "fans"}}
	meta := &Node{Aspect: "m", Evidence: &Evidence{Kind: ReviewMeta, Path: "user.elite", Test: NotEmpty}}
	parse := func(s string) *Node {
		n, err := ParseShorthand(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	tests := []struct {
		group string
		n     *Node
		fits  bool
	}{
		{"G01", parse("AND(a, b, c)"), true}, {"G01", parse("AND(a, b, NOT(c), d)"), true}, {"G01", parse("AND(a, b)"), false}, {"G01", parse("OR(a, b, c)"), false}, {"G01", parse("AND(a, b, OR(c, d))"), false}, {"G01", parse("a"), false},
		{"G02", parse("AND(a, OR(b, c))"), true}, {"G02", parse("AND(OR(b, c), x, a)"), true}, {"G02", parse("AND(a, OR(b, c, d))"), false}, {"G02", parse("OR(b, c)"), false}, {"G02", parse("AND(a, AND(b, c))"), false},
		{"G03", parse("AND(a, OR(b, NOT(c)))"), true}, {"G03", parse("AND(a, OR(b, AND(c, d)))"), false},
		{"G04", join(And, leaf("a"), credible), true}, {"G04", join(And, meta, leaf("a"), leaf("b")), true}, {"G04", parse("AND(a, b)"), false}, {"G04", join(And, leaf("a"), text), false}, {"G04", join(And, leaf("a"), join(Not, meta)), true},
		{"G05", parse("AND(a, OR(b, c, d))"), true}, {"G05", parse("AND(a, OR(b, c))"), false}, {"G05", parse("OR(a, b, c)"), false},
		{"G06", parse("AND(a, OR(AND(b, c), AND(d, e)))"), true}, {"G06", parse("AND(a, OR(b, AND(d, e)))"), false},
		{"G07", parse("AND(a, OR(b, c), OR(d, e))"), true}, {"G07", parse("AND(a, OR(b, c))"), false}, {"G07", parse("AND(OR(b, c), OR(d, e))"), false},
		{"G08", parse("AND(a, OR(b, AND(c, d)))"), true}, {"G08", parse("AND(a, x, OR(AND(c, d), b))"), true}, {"G08", parse("AND(a, OR(AND(b, c), AND(d, e)))"), false},
		{"G09", parse("1HOP(['A'], 'x')"), true}, {"G09", parse("AND(1HOP(['A'], 'x'))"), true}, {"G09", parse("2HOP(['A'], 'x')"), false}, {"G09", parse("1HOP(['A'])"), false}, {"G09", parse("a"), false},
		{"G10", parse("2HOP(['A'], 'x')"), true}, {"G10", parse("0HOP(['A'], 'x')"), false},
		{"G11", parse("a"), true}, {"cheap laptops", parse("OR(a, AND(b, c), NOT(OR(d, e)))"), true}, {"", parse("a"), true}, // no shape to check
	}
	for _, tt := range tests {
		if err := Lint(Request{Group: tt.group, Structure: tt.n}); (err == nil) != tt.fits {
			t.Errorf("%s %s: %v", tt.group, tt.n.Shorthand(), err)
		}
	}
}

func TestLoad(t *testing.T) {
	item := &catalog.Item{ID: "g"}
	c := catalog.New([]*catalog.Item{item}, map[string]*catalog.User{"u": {ID: "u", Name: "Ann"}})
	request := func(id, group, rest string) string {
		return fmt.Sprintf(`{"id":%q,"group":%q,"text":"t","gold":"g",%s}`, id, group, rest)
	}
	three := `"structure":{"op":"AND","args":[` + tv + "," + tv + "," + tv + `]}`
	lines := []string{
		request("R1", "G01", three),
		request("R1", "G01", three),
		`{"id":"R3","group":"G01","gold":"zzz",` + three + `}`,
		request("R4", "G02", three),
		request("R5", "G01", three+`,"shorthand":"AND(tv, OR(tv, tv))"`),
		request("R6", "G09", `"shorthand":"1HOP(['Bea'], 'x')"`),
		request("R7", "G01", `"structure":{"op":"AND","args":[{"op":"XOR"},{"aspect":"p","evidence":{"kind":"review_text","pattern":"("}},{}]}`),
		"{\"id\":\"R8\xff\"}",
		`{"id":"R9"`,
		request("R10", "G01", three+`,"shorthand":"AND(tv"`),
		`{"id":"R11","group":"G01","text":"t","gold":"g",` + three + `,"shorthand":"AND( TV,tv, tv )"}`,
		`{"id":"R12","text":"t","gold":"g","structure":{"op":"OR","args":[` + tv + `,{"op":"NOT","args":[` + tv + `]}]}}`,
		request("R13", "G11", `"structure":`+tv),
		`{"id":"R14","text":"t","gold":["g","zzz"],"structure":` + tv + `}`,
		`{"id":"R15","text":"t","gold":[],"structure":` + tv + `}`,
		`{"id":"R16","text":"t","gold":["g","g"],"structure":` + tv + `}`,
		`{"id":"R17","text":"t","gold":{"g":0},"structure":` + tv + `}`,
		`{"id":"R18","text":"t","gold":7,"structure":` + tv + `}`,
	}
	path := filepath.Join(t.TempDir(), "requests.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	set, findings, err := Load(path, c)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range findings {
		text := strings.TrimPrefix(f.Error(), path)
		if f.Warning {
			text += " (warning)"
		}
		got = append(got, text)
	}
	want := []string{
		`:2: request "R1": duplicate id: first on line 1`,
		`:3: request "R3": text is missing`,
		`:3: request "R3": gold "zzz" is not an item`,
		`:4: request "R4": group G02 has the shape AND(anchor, OR(a, b)), got AND(tv, tv, tv)`,
		`:5: request "R5": the shorthand AND(tv, OR(tv, tv)) does not match the structure: AND(tv, tv, tv) (warning)`,
		`:6: request "R6": no user is named "Bea" (warning)`,
		`:7: request "R7": structure.args[0]: unknown operator "XOR": want AND, OR or NOT`,
		"... regexp",
		`:7: request "R7": structure.args[2]: empty node: want op and args, or aspect and evidence`,
		`:8: byte 10 of the line is not UTF-8: save the file as UTF-8`,
		`:9: column 11: unexpected end of JSON: the value is cut off; of JSON Lines each line must hold a whole one`,
		`:10: request "R10": shorthand: column 7: want ')', got the end (warning)`,
		`:13: request "R13": group "G11" is not one of G01 to G10: its shape is not checked (warning)`,
		`:14: request "R14": gold "zzz" is not an item`,
		`:15: request "R15": gold is missing`,
		`:16: request "R16": gold has "g" twice`,
		`:17: request "R17": gold "g" has grade 0: want at least 1; leave out items that do not satisfy the request`,
		`:18: column 31: gold: want a list, got a number`,
	}
	want[7] = ":7: request \"R7\": structure.args[1]: review_text: pattern does not compile: error parsing regexp: missing closing ): `(`"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var ids []string
	for _, r := range set.Requests {
		ids = append(ids, fmt.Sprint(r.ID, "@", r.Line))
	}
	if diff := cmp.Diff([]string{"R1@1", "R5@5", "R6@6", "R10@10", "R11@11", "R12@12", "R13@13"}, ids); diff != "" {
		t.Error(diff)
	}
	if set.Requests[0].Shorthand != "AND(tv, tv, tv)" || set.Requests[4].Gold != "g" {
		t.Errorf("%+v", set.Requests)
	}
	if _, _, err := Load(path+".absent", c); err == nil {
		t.Error("a file that is not there was read")
	}
}

// Gold is one id, a list, or an object of grades. What is written is read back
// the same.
func TestGold(t *testing.T) {
	for in, want := range map[string]struct {
		gold  string
		right []Graded
	}{
		`"a"`:                 {"a", nil},
		`["a"]`:               {"a", nil},
		`["b","a"]`:           {"b", []Graded{{"b", 1}, {"a", 1}}},
		`{"a":1,"c":2,"b":2}`: {"b", []Graded{{"b", 2}, {"c", 2}, {"a", 1}}},
	} {
		line := `{"id":"R1","text":"t","gold":` + in + `,"structure":` + tv + `}`
		for range 2 {
			r, errs := decode([]byte(line))
			if len(errs) > 0 || r.Gold != want.gold || !cmp.Equal(r.Right, want.right) {
				t.Errorf("%s reads as %q, %v, %v", line, r.Gold, r.Right, errs)
			}
			line = Line(r)
		}
	}
	one := Request{Gold: "a"}
	if !one.IsRight("a") || one.IsRight("b") || !cmp.Equal(one.Answers(), []Graded{{"a", 1}}) {
		t.Errorf("%v", one.Answers())
	}
}
