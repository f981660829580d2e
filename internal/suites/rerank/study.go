package rerank

import (
	"slices"

	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/rerank/attack"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// A Study is a study file of this suite: the keys every suite shares, and its
// own.
type Study struct {
	study.Study
	Data       Data       `json:"data" jsonschema:"required,description=Items\\, reviews\\, people and requests"`
	Candidates Candidates `json:"candidates,omitempty" jsonschema:"description=Who competes and in which order"`
	Budget     Budget     `json:"budget,omitempty" jsonschema:"description=How much of each item's reviews a method is shown: fixed before the sweep\\, the same at every size"`
	Methods    []Method   `json:"methods" jsonschema:"required,minItems=1,description=What is compared"`
	Attacks    Attacks    `json:"attacks,omitempty" jsonschema:"description=What is done to the reviews of candidates that are not gold"`
}

// Data says where the data stand.
type Data struct {
	Items    string   `json:"items" jsonschema:"required,description=JSON Lines file of items; Yelp's business file loads as it is"`
	Reviews  string   `json:"reviews" jsonschema:"required,description=JSON Lines file of reviews"`
	Users    string   `json:"users,omitempty" jsonschema:"description=JSON Lines file of people and their friends"`
	Requests string   `json:"requests" jsonschema:"required,description=JSON Lines file of requests with their structure and gold"`
	Strip    []string `json:"strip,omitempty" jsonschema:"description=Paths of items and reviews that are left out because they give the answer away"`
	Count    int      `json:"count,omitempty" jsonschema:"minimum=0,description=Take only the first so many requests (default all)"`
}

// Candidates says who competes.
type Candidates struct {
	Sizes   []int  `json:"sizes,omitempty" jsonschema:"uniqueItems=true,description=Numbers of candidates; sets are nested and requests the same at every size (default 10)"`
	Shuffle string `json:"shuffle,omitempty" jsonschema:"enum=balanced,enum=none,enum=middle,enum=random,default=balanced,description=Order of candidates: balanced moves gold through all positions over the requests (default)"`
	K       int    `json:"k,omitempty" jsonschema:"minimum=1,maximum=50,default=5,description=How many places a method is asked for (default 5)"`
}

// Budget says how much text is shown.
type Budget struct {
	Reviews int `json:"reviews,omitempty" jsonschema:"minimum=0,description=Reviews of an item (default all)"`
	Chars   int `json:"chars,omitempty" jsonschema:"minimum=0,description=Characters of reviews of an item (default all)"`
}

// A Method is one thing under test: a built-in method on its models, or a
// pipeline outside.
type Method struct {
	Name    string `json:"name" jsonschema:"required,description=What the arm is called; the name of a built-in method where nothing else says what it is"`
	Builtin string `json:"builtin,omitempty" jsonschema:"enum=random,enum=bm25,enum=oracle,enum=cot,enum=ps,enum=plan_act,enum=listwise,enum=weaver,enum=anot,description=A method that ships with the suite"`
	kit.Outside
	Models []string `json:"models,omitempty" jsonschema:"description=Ids of the models to run on (default all)"`
}

// Attacks says which attacks are run beside the clean data, and with which
// defences.
type Attacks struct {
	Names    []string `json:"names,omitempty" jsonschema:"uniqueItems=true,description=Attacks beside the clean data; all stands for every one (default none)"`
	Strength float64  `json:"strength,omitempty" jsonschema:"minimum=0,description=How hard; 1 is the default"`
	Reviews  int      `json:"reviews,omitempty" jsonschema:"minimum=0,description=How many reviews of an item are changed or added (default: all for noise and length\\, one for the others)"`
	Defence  string   `json:"defence,omitempty" jsonschema:"enum=off,enum=on,enum=both,default=off,description=Whether prompts begin with the preamble that tells how to treat reviews; both runs every arm with and without"`
}

// within drops the last of an item's own reviews where an attack has added to
// them, so that no item shows more than the budget allows.
func (b Budget) within(reviews, own []catalog.Review) []catalog.Review {
	excess := len(reviews) - b.Reviews
	if b.Reviews == 0 || excess <= 0 {
		return reviews
	}
	mine := map[string]bool{}
	for i := range own {
		mine[own[i].ID] = true
	}
	kept := slices.Clone(reviews)
	for i := len(kept) - 1; i >= 0 && excess > 0; i-- {
		if mine[kept[i].ID] {
			kept = slices.Delete(kept, i, i+1)
			excess--
		}
	}
	return kept
}

func (a Attacks) options() attack.Options {
	return attack.Options{Strength: a.Strength, Reviews: a.Reviews}
}
