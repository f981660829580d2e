package okf

import (
	"cmp"
	"fmt"
	"slices"
)

// A Finding is a problem of a file.
type Finding struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	Line     int      `json:"line"` // 0 for the whole file
	Text     string   `json:"text"`
}

// Where is the place of a finding as FILE:LINE.
func (f Finding) Where() string {
	if f.Line > 0 {
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return f.File
}

// String has the form FILE:LINE: severity code: text.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s %s: %s", f.Where(), f.Severity, f.Code, f.Text)
}

// Severity is how bad a finding is.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// A Code is a stable name of a kind of finding.
type Code string

// Findings of the format. They make a file non-conformant.
const (
	CodeUTF8         Code = "not-utf8"
	CodeNoFront      Code = "no-front-matter"
	CodeYAML         Code = "not-yaml"
	CodeDuplicateKey Code = "duplicate-key"
	CodeNoType       Code = "no-type"
	CodeTooLarge     Code = "too-large"
	CodeSymlink      Code = "symbolic-link"
	CodeNotRegular   Code = "not-a-file"
	CodeUnreadable   Code = "unreadable"
	CodeTooMany      Code = "too-many-files"
)

// Findings of the ontology. They make an atom invalid if they are errors.
const (
	CodeMissing         Code = "missing-key"
	CodeUnknownType     Code = "unknown-type"
	CodeBadID           Code = "bad-id"
	CodeDuplicateID     Code = "duplicate-id"
	CodeEnum            Code = "bad-enum"
	CodeClaimForm       Code = "bad-rationale"
	CodeEdgeForm        Code = "bad-edge"
	CodeSingle          Code = "several-targets"
	CodeFrom            Code = "wrong-source-type"
	CodeTo              Code = "wrong-target-type"
	CodeDuplicateTarget Code = "duplicate-target"
	CodeUnresolved      Code = "unresolved-link"
)

// ofFormat are the codes about the format.
var ofFormat = []Code{CodeUTF8, CodeNoFront, CodeYAML, CodeDuplicateKey, CodeNoType, CodeTooLarge, CodeSymlink, CodeNotRegular, CodeUnreadable, CodeTooMany}

// OfFormat reports whether a finding is about the format, not about the ontology.
func (f Finding) OfFormat() bool { return slices.Contains(ofFormat, f.Code) }

// SortFindings sorts by file, line, code and text.
func SortFindings(list []Finding) {
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Text, b.Text))
	})
}
