package analyse

// A Finding is what a comparison shows.
type Finding string

// The findings.
const (
	NotCompared Finding = "not compared"
	OtherJudge  Finding = "judged by different judges"
	NotTested   Finding = "not tested" // a difference without a p-value
	NoEvidence  Finding = "no evidence of a difference"
	Better      Finding = "better"
	Worse       Finding = "worse"
)

// Found is what a comparison shows of its first arm. A difference is significant if the
// p-value, after the correction if any, is below alpha.
func (c Comparison) Found(higherIsBetter bool, alpha float64) Finding {
	p := c.PAdjusted
	if !p.Defined() {
		p = c.P
	}
	switch {
	case !c.Diff.Defined():
		return NotCompared
	case c.JudgesDiffer != "":
		return OtherJudge
	case !p.Defined():
		return NotTested
	case float64(p) >= alpha:
		return NoEvidence
	case (c.Diff > 0) == higherIsBetter:
		return Better
	}
	return Worse
}
