package rerank

import (
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/rerank/attack"
	"github.com/scruple-eval/scruple/internal/suites/rerank/candidates"
)

// A Study is a study file of this suite: the common keys and its own.
type Study struct {
	study.Study
	Data       Data       `json:"data" jsonschema:"required,description=Items\\, reviews\\, people and requests"`
	Candidates Candidates `json:"candidates,omitempty" jsonschema:"description=Number and order of candidates"`
	Budget     Budget     `json:"review_budget,omitempty" jsonschema:"description=How much of each item's reviews a method is shown\\, the same at every size"`
	Methods    []Method   `json:"arms" jsonschema:"required,minItems=1,description=What is compared" jsonschema_extras:"former=methods"`
	Attacks    Attacks    `json:"attacks,omitempty" jsonschema:"description=Changes to the reviews of candidates"`
}

// Data names the data files.
type Data struct {
	Items    string   `json:"items" jsonschema:"required,description=file of items (JSON Lines or a table); Yelp's business file loads unchanged"`
	Reviews  string   `json:"reviews" jsonschema:"required,description=file of reviews"`
	Users    string   `json:"users,omitempty" jsonschema:"description=file of people and their friends"`
	Requests string   `json:"requests" jsonschema:"required,description=file of requests with their structure and gold"`
	Strip    []string `json:"strip,omitempty" jsonschema:"description=Paths in items and reviews to remove because they reveal the answer"`
	Count    int      `json:"count,omitempty" jsonschema:"minimum=0,description=Use only the first count requests (default all)"`
}

// Candidates are the number and order of candidates.
type Candidates struct {
	Sizes   []int  `json:"sizes,omitempty" jsonschema:"uniqueItems=true,description=Numbers of candidates; sets are nested and requests the same at every size (default 10)"`
	Shuffle string `json:"shuffle,omitempty" jsonschema:"enum=balanced,enum=none,enum=middle,enum=random,default=balanced,description=Order of candidates: balanced moves gold through all positions over the requests\\, in the order of their file (default)"`
	K       int    `json:"k,omitempty" jsonschema:"minimum=1,maximum=50,default=5,description=Number of positions a method must return (default 5); Hits@K are scored for every K up to it\\, and reported above 10 if the study names them"`
}

// Budget limits the text shown. It is a type of its own for its name in the schema of studies.
type Budget struct{ candidates.Budget }

// A Method is one thing under test: a built-in method on its models, or an
// external pipeline.
type Method struct {
	kit.Entry
	Builtin string `json:"builtin,omitempty" jsonschema:"enum=random,enum=bm25,enum=oracle,enum=cot,enum=ps,enum=plan_act,enum=listwise,enum=weaver,enum=anot,description=A built-in method (default: that of the arm's name)"`
}

// Attacks are the attacks to run in addition to the clean data, and the defence.
type Attacks struct {
	Names []string `json:"names,omitempty" jsonschema:"uniqueItems=true,description=Attacks to run in addition to the clean data; all means every attack (default none)"`
	attack.Options
	Defence string `json:"defence,omitempty" jsonschema:"enum=off,enum=on,enum=both,default=off,description=Whether prompts begin with a preamble on how to treat reviews; both runs every arm with and without it"`
}
