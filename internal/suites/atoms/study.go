package atoms

import (
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// A Study is a study file of this suite: the common keys and its own.
type Study struct {
	study.Study
	Ontology     string      `json:"ontology,omitempty" jsonschema:"description=File with the types and edges (default: that of the corpus\\, else the shipped one)"`
	Corpus       *Corpus     `json:"data,omitempty" jsonschema:"description=Documents with their reference atoms" jsonschema_extras:"former=corpus"`
	Extractors   []Extractor `json:"arms,omitempty" jsonschema:"description=What is compared: models\\, rules\\, folders\\, pipelines" jsonschema_extras:"former=extractors"`
	Judging      Judging     `json:"judge,omitempty" jsonschema:"description=How the judge is asked about claims"`
	JudgeQuality string      `json:"judge_quality,omitempty" jsonschema:"description=File that a study of judges exported (--format judge-quality): faithfulness is corrected by the judge's error"`
	Claims       *Claims     `json:"claims,omitempty" jsonschema:"description=Claims with human labels\\, to measure judges"`
	Judges       []JudgeArm  `json:"judges,omitempty" jsonschema:"description=The judges that are compared on claims"`
}

// Judging words the judge of claims, which is asked two questions.
type Judging struct {
	kit.Judging
	Coverage string `json:"coverage_prompt,omitempty" jsonschema:"description=Text of the question whether an emitted claim states one of gold\\, with {{REFERENCE}} and {{CLAIMS}}\\, instead of the built-in one"`
}

// words is the part of the key that the judge is asked with.
func (j Judging) words() Judging { return Judging{j.Words(), j.Coverage} }

func (j Judging) own() bool { return j.Own() || j.Coverage != "" }

func (j Judging) check(f *study.File, lacks kit.Lacks, errs *study.Errors) {
	j.Check(f, []string{holeSources, holeClaim}, lacks, errs)
	kit.CheckHoles(f, "judge.coverage_prompt", j.Coverage, []string{holeReference, holeClaims}, errs)
}

// Corpus names the gold corpus.
type Corpus struct {
	Path      string `json:"path" jsonschema:"required,minLength=1,description=Folder with a folder for each case (documents in source\\, atoms in gold)\\, or JSON Lines"`
	AllowGaps bool   `json:"allow_gaps,omitempty" jsonschema:"description=Only warn about types and edges of the ontology that no gold atom has"`
	Count     int    `json:"count,omitempty" jsonschema:"minimum=0,description=Use only the first count cases (default all)"`
}

// An Extractor is one thing under test.
type Extractor struct {
	kit.Entry
	Builtin string `json:"builtin,omitempty" jsonschema:"enum=pipeline,enum=outline,description=The pipeline on a model\\, or rules that need no model (default: that of the arm's name)"`
	Path    string `json:"path,omitempty" jsonschema:"description=File with the instructions of the pipeline"`
	Folder  string `json:"folder,omitempty" jsonschema:"description=Folder with a folder of atoms for each case\\, made elsewhere"`
}

// Claims names the file of labelled claims.
type Claims struct {
	Path  string `json:"path" jsonschema:"required,minLength=1,description=JSON Lines file of id\\, set\\, source\\, claim and grounded"`
	Count int    `json:"count,omitempty" jsonschema:"minimum=0,description=Use only the first count claims of each set (default all)"`
}

// A JudgeArm is a judge that is measured.
type JudgeArm struct {
	kit.Entry
	Builtin string `json:"builtin,omitempty" jsonschema:"enum=rules,enum=model,description=Overlap of words\\, or a model with the suite's question (default: that of the judge's name)"`
}
