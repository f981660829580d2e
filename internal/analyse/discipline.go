package analyse

import (
	"strconv"
	"strings"
)

// A Discipline is what the ledger of a study with splits says of a run.
type Discipline struct {
	Registration *Registration `json:"registration,omitempty"` // of a TEST run
	Unblindings  []Unblinding  `json:"unblindings,omitempty"`
	Revisions    []Revision    `json:"revisions,omitempty"`
	Budget       []Used        `json:"budget,omitempty"`
	Others       []OtherTest   `json:"other_tests,omitempty"`
	Problem      string        `json:"problem,omitempty"` // why nothing shows the registration
}

// Reasons lists the reasons for which TEST was looked at again, with their dates.
func (d *Discipline) Reasons() (list []string) {
	if d == nil {
		return nil
	}
	for _, u := range d.Unblindings {
		text := u.Date + ", " + u.By + ": " + strconv.Quote(u.Reason)
		if len(u.Changes) > 0 {
			text += " (" + strings.Join(u.Changes, "; ") + ")"
		}
		list = append(list, text)
	}
	return list
}

// AsRegistered reports whether a run is a TEST run as it was registered.
func (d *Discipline) AsRegistered() bool {
	return d != nil && d.Registration != nil && d.Problem == "" && len(d.Unblindings) == 0
}

// A Registration is what was recorded before a TEST run.
type Registration struct {
	Date      string `json:"date"`
	By        string `json:"by"`
	SHA256    string `json:"sha256"`
	Entry     int    `json:"entry"` // line of the ledger
	EntryHash string `json:"entry_hash"`
	Test      string `json:"planned_test"`
	Times     int    `json:"times"` // how often the study was registered before it ran
}

// An Unblinding is a reason for which TEST was looked at again, or with changed inputs.
type Unblinding struct {
	Date    string   `json:"date"`
	By      string   `json:"by"`
	Reason  string   `json:"reason"`
	Changes []string `json:"changes"`
}

// An OtherTest is another TEST run in the ledger with arms of this one. Whoever reports
// the best of several runs would be found here.
type OtherTest struct {
	Study string   `json:"study"`
	Run   string   `json:"run"`
	Date  string   `json:"date"`
	Entry int      `json:"entry"` // line of the ledger
	Arms  []string `json:"arms"`  // that both have
}

// A Revision is a cycle on DEV.
type Revision struct {
	Date       string `json:"date"`
	Hypothesis string `json:"hypothesis"`
	Change     string `json:"change"`
	After      string `json:"after_test,omitempty"` // the TEST run that began before it
}

// Used is what was used of a limit; Allowed is nil without one.
type Used struct {
	Name    string   `json:"name"`
	Used    float64  `json:"used"`
	Allowed *float64 `json:"allowed,omitempty"`
	Note    string   `json:"note,omitempty"`
}

// Over reports whether more was used than is allowed.
func (u Used) Over() bool { return u.Allowed != nil && u.Used > *u.Allowed }
