package discipline

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/text"
)

// StorePath is the store of a study file, unless another is given.
func StorePath(study string) string {
	return filepath.Join(filepath.Dir(study), ledger.Folder, "scruple.db")
}

// Path is the ledger of a study file.
func Path(study string) string {
	path, _ := ledger.Find(filepath.Dir(study))
	return path
}

// An Owner is the study that an entry is about. Studies in several folders have one
// ledger and may have one name.
type Owner struct {
	Study  string `json:"study"`            // name
	Folder string `json:"folder,omitempty"` // seen from that of the ledger; "" if it is not known
}

// OwnerOf is the owner of the entries of a study file.
func OwnerOf(file, name string) Owner {
	_, from := ledger.Find(filepath.Dir(file))
	return Owner{name, from}
}

// Is reports whether two owners are one study, as far as is known.
func (o Owner) Is(other Owner) bool {
	return o.Study == other.Study && (o.Folder == other.Folder || o.Folder == "" || other.Folder == "")
}

// A Registration is what a TEST run will be: everything that determines its results.
type Registration struct {
	Owner
	File   string      `json:"file"`
	Digest string      `json:"sha256"` // of Parts
	Test   string      `json:"planned_test"`
	Items  int         `json:"items"`
	Parts  []eval.Part `json:"parts"`
	// Judge is the accuracy of the judge that TEST uses; nil if DEV did not measure it.
	Judge *Measured `json:"judge,omitempty"`
	Outside
	Hashes
}

// Outside is what programs are run with that is not in the files of a study. It is not in digests:
// who reads results has other values. Ledgers of earlier versions have none.
type Outside struct {
	// Environment are the variables that the study passes to programs, with the SHA-256 of their
	// values, or [Unrecorded].
	Environment []eval.Part `json:"environment,omitempty"`
	// Unidentified are the arms with programs of which nothing shows whether they change.
	Unidentified []string `json:"unidentified,omitempty"`
}

// Unrecorded stands for the value of a variable that may hold a key: its hash could be guessed.
const Unrecorded = "not recorded, since it may be a key"

// changes lists the variables that have another value now.
func (o Outside) changes(now Outside) []string {
	if len(o.Environment) == 0 {
		return nil
	}
	return eval.DiffParts(brief(o.Environment), brief(now.Environment))
}

// unknown lists what can change without being noticed.
func (o Outside) unknown() (list []string) {
	if len(o.Unidentified) > 0 {
		list = append(list, "a change of the program is not noticed of arm "+strings.Join(shortened(o.Unidentified), ", "))
	}
	var keys []string
	for _, v := range o.Environment {
		if v.Value == Unrecorded {
			keys = append(keys, v.Name)
		}
	}
	if len(keys) > 0 {
		list = append(list, "values that may be keys are not recorded: "+strings.Join(shortened(keys), ", "))
	}
	return list
}

// Hashes are those by which the ledger knows items, sorted; of more than [MostInputs] the first
// ones. The first hashes of two large sets that share items share some too.
type Hashes struct {
	Inputs []string `json:"inputs,omitempty"`
	// Materials are of items that have such a hash. Ledgers of earlier versions have none.
	Materials []string `json:"materials,omitempty"`
}

// inputsOf are the hashes of the inputs of items.
func inputsOf(items iter.Seq[eval.Item]) (inputs []string) {
	for it := range items {
		inputs = append(inputs, it.Input.String())
	}
	return inputs
}

// hashesOf are those of items.
func hashesOf(items []eval.Item) Hashes {
	h := Hashes{Inputs: inputsOf(slices.Values(items))}
	for _, it := range items {
		if it.Material != 0 {
			h.Materials = append(h.Materials, it.Material.String())
		}
	}
	for _, list := range []*[]string{&h.Inputs, &h.Materials} {
		slices.Sort(*list)
		*list = (*list)[:min(len(*list), MostInputs)]
	}
	return h
}

// shared returns what counts the items that others have in common with these.
func (h Hashes) shared() func(others Hashes) int {
	inputs, materials := text.SetOf(h.Inputs), text.SetOf(h.Materials)
	return func(others Hashes) int { return max(count(inputs, others.Inputs), count(materials, others.Materials)) }
}

// A Measured is the accuracy of a judge in a DEV run.
type Measured struct {
	Judge    string  `json:"judge"`
	Settings string  `json:"settings"` // a hash of those of the judge
	Run      string  `json:"run"`
	Created  string  `json:"created_at"`
	Tallies  []Tally `json:"tallies"`
	Missing  int     `json:"missing,omitempty"` // cases without a verdict
	// Known counts the cases of each kind; none in ledgers of earlier versions.
	Known []eval.Known `json:"known,omitempty"`
}

// A Tally counts the items that have so many cases, of which the judge got so many right.
type Tally struct {
	Right float64 `json:"right"`
	Cases float64 `json:"cases"`
	Items int     `json:"items"`
}

// TalliesOf summarises a measurement. The order of items has no effect on its interval.
func TalliesOf(m eval.Measurement) (list []Tally) {
	items := map[Tally]int{}
	for i := range m.Cases {
		items[Tally{Right: m.Right[i], Cases: m.Cases[i]}]++
	}
	for t, n := range items {
		list = append(list, Tally{t.Right, t.Cases, n})
	}
	slices.SortFunc(list, func(a, b Tally) int { return cmp.Or(cmp.Compare(a.Cases, b.Cases), cmp.Compare(a.Right, b.Right)) })
	return list
}

// mostItems bounds the memory that a ledger from elsewhere can take.
const mostItems = 1_000_000

// Measurement is what was measured, per item.
func (m Measured) Measurement() eval.Measurement {
	out := eval.Measurement{Missing: m.Missing, Known: m.Known}
	for _, t := range m.Tallies {
		for range min(t.Items, mostItems-len(out.Cases)) {
			out.Right, out.Cases = append(out.Right, t.Right), append(out.Cases, t.Cases)
		}
	}
	return out
}

func (m Measured) String() string {
	right, cases := m.Measurement().Totals()
	return fmt.Sprintf("%s was right on %g of %g cases (%.1f %%) in run %s", m.Judge, right, cases, 100*right/cases, m.Run)
}

// MostInputs bounds the hashes in a line of the ledger.
const MostInputs = 20_000

// DigestOf is the digest of parts.
func DigestOf(parts []eval.Part) string { return dataset.SHA256([]byte(eval.EncodeParts(parts))) }

// A TestRun is a run on TEST, recorded before its first call.
type TestRun struct {
	RunKey
	Store  string         `json:"store"`
	Digest string         `json:"registration"`     // of what ran
	Budget []analyse.Used `json:"budget,omitempty"` // what was used before it
	Hashes
	Outside
	Arms []Arm `json:"arms,omitempty"` // without those that calibrate
}

// A RunKey tells runs of all stores apart: by the time, too.
type RunKey struct {
	Owner
	Run     string `json:"run"`
	Created string `json:"created_at"`
}

// is reports whether two keys are of one run. The folder of its study may have been moved.
func (k RunKey) is(other RunKey) bool {
	return k.Run == other.Run && k.Created == other.Created && k.Study == other.Study
}

// An Arm is an arm of a TEST run or of a kit.
type Arm struct {
	ID   string `json:"id"`
	Hash string `json:"hash"`
}

// armsOf are arms without those that calibrate and the baselines.
func armsOf(all []eval.Arm) (list []Arm) {
	for _, a := range all {
		if a.Role == eval.RoleArm {
			list = append(list, Arm{ID: a.ID, Hash: a.Hash})
		}
	}
	return list
}

// Seen are items that a run outside of TEST asks about, recorded before its first call.
// Those of an earlier entry are not repeated.
type Seen struct {
	Owner
	Split   string `json:"split,omitempty"` // "" for a study without splits
	Run     string `json:"run"`
	Created string `json:"created_at"`
	Store   string `json:"store"`
	Hashes
}

func (s Seen) key() RunKey { return RunKey{s.Owner, s.Run, s.Created} }

// A Shown is that results of a TEST run are shown, recorded before they are computed.
type Shown struct {
	RunKey
	Trials int `json:"trials"` // with an outcome
}

// An Unblinding is the reason for which TEST is looked at again, or with other inputs
// than were registered.
type Unblinding struct {
	Owner
	Reason  string   `json:"reason"`
	Digest  string   `json:"registration"` // of what may run now
	Changes []string `json:"changes"`      // why it was needed
}

// A Revision is one cycle on DEV: what is believed, and the one change made.
type Revision struct {
	Owner
	Run        string `json:"run,omitempty"`        // the DEV run behind it
	After      string `json:"after_test,omitempty"` // the TEST run that began before it
	Hypothesis string `json:"hypothesis"`
	Change     string `json:"change"`
}

// A Blind is the result of a blind validation by an outsider.
type Blind struct {
	Owner
	Result analyse.BlindResult `json:"result"`
}

// decodePart reads without its comparisons what another version recorded: rules alone depend on a
// result, not whether TEST may run, so it leaves them undecided and prevents nothing.
func (b *Blind) decodePart(e ledger.Entry, unread error) error {
	if dataset.DecodeLoose(e.Data, b) != nil {
		return unread
	}
	b.Result.Comparisons, b.Result.Unread = nil, unread.Error()
	return nil
}

// A Kit is a kit for a blind validation, made of a study.
type Kit struct {
	Owner
	Digest string   `json:"kit_sha256"`
	Files  []string `json:"files"` // all that went out
	// Arms are those of the study, or of the overrides that it was made with. Ledgers of earlier
	// versions have none.
	Arms []Arm `json:"arms,omitempty"`
}

// kits are the entries of a kit. There are several if the models of the study changed between them.
func (b *Book) kits(study Owner, digest string) []Entry[Kit] {
	return slices.DeleteFunc(of(b.Kits, study), func(k Entry[Kit]) bool { return k.Data.Digest != digest })
}

// others lists the arms of a treatment that were others in a kit.
func (b *Book) others(study Owner, digest string, treatment []eval.Part) (least []string) {
	now := map[string]string{}
	for _, p := range treatment {
		now[p.Name] = p.Value
	}
	for i, k := range b.kits(study, digest) {
		var list []string
		for _, a := range k.Data.Arms {
			if hash, ok := now[plan.ArmPart+a.ID]; ok && hash != a.Hash {
				list = append(list, a.ID)
			}
		}
		if i == 0 || len(list) < len(least) {
			least = list
		}
	}
	return least
}

// A Commitment is the hash of an outsider's data, sent before the run.
type Commitment struct {
	Owner
	Data string `json:"data_sha256"`
	Who  string `json:"who"` // the outsider
	// Withdrawn says why no result of an earlier commitment will come; "" if it is a commitment.
	Withdrawn string `json:"withdrawn,omitempty"`
}

// An Entry is a line of the ledger with its data.
type Entry[T any] struct {
	Seq  int    `json:"entry"`
	At   string `json:"at"`
	By   string `json:"by"`
	Hash string `json:"hash"`
	Data T      `json:"data"`
}

// A Book is what a ledger says, oldest first.
type Book struct {
	Path          string
	Head          ledger.Head
	Registrations []Entry[Registration]
	Tests         []Entry[TestRun]
	Seen          []Entry[Seen]
	Shown         []Entry[Shown]
	Unblindings   []Entry[Unblinding]
	Revisions     []Entry[Revision]
	Blind         []Entry[Blind]
	Kits          []Entry[Kit]
	Commitments   []Entry[Commitment]
	follows       map[string][]string // of [ledger.Flat]
	// Above are what the ledgers above it say, of which the items count, and the runs that it does
	// not have: see [ledger.Above].
	Above []Book
}

// Read reads and checks a ledger. One that does not exist has no entries.
func Read(path string) (Book, error) {
	entries, err := ledger.Read(path)
	if err != nil {
		return Book{}, err
	}
	b := Book{Path: path}
	err = b.add(entries...)
	return b, err
}

// readAbove reads what the ledgers above that of a study file say.
func (b *Book) readAbove(study string) error {
	for _, path := range ledger.Above(filepath.Dir(study)) {
		above, err := Read(path)
		if err != nil {
			return err
		}
		b.Above = append(b.Above, above)
	}
	return nil
}

// add adds lines of the ledger.
func (b *Book) add(lines ...ledger.Entry) error {
	if len(lines) == 0 {
		return nil
	}
	entries, follows := ledger.Flat(lines)
	if b.Head = ledger.HeadOf(lines); b.follows == nil {
		b.follows = map[string][]string{}
	}
	maps.Copy(b.follows, follows)
	for _, e := range entries {
		if read := kinds[e.Kind]; read != nil {
			if _, err := read(b, e); err != nil {
				return fmt.Errorf("reading %s: %w", b.Path, err)
			}
		}
	}
	return nil
}

// A record is what an entry of the ledger says.
type record interface {
	kind() string
	fmt.Stringer
}

func (Registration) kind() string { return "preregistration" }
func (TestRun) kind() string      { return "test run" }
func (Seen) kind() string         { return "items seen" }
func (Shown) kind() string        { return "results shown" }
func (Unblinding) kind() string   { return "unblinding" }
func (Revision) kind() string     { return "revision" }
func (Blind) kind() string        { return "blind validation" }
func (Kit) kind() string          { return "blind kit" }
func (Commitment) kind() string   { return "blind commitment" }

// kinds has what reads the entries of a kind into a book.
var kinds = map[string]func(*Book, ledger.Entry) (fmt.Stringer, error){
	Registration{}.kind(): into(func(b *Book) *[]Entry[Registration] { return &b.Registrations }),
	TestRun{}.kind():      into(func(b *Book) *[]Entry[TestRun] { return &b.Tests }),
	Seen{}.kind():         into(func(b *Book) *[]Entry[Seen] { return &b.Seen }),
	Shown{}.kind():        into(func(b *Book) *[]Entry[Shown] { return &b.Shown }),
	Unblinding{}.kind():   into(func(b *Book) *[]Entry[Unblinding] { return &b.Unblindings }),
	Revision{}.kind():     into(func(b *Book) *[]Entry[Revision] { return &b.Revisions }),
	Blind{}.kind():        into(func(b *Book) *[]Entry[Blind] { return &b.Blind }, (*Blind).decodePart),
	Kit{}.kind():          into(func(b *Book) *[]Entry[Kit] { return &b.Kits }),
	Commitment{}.kind():   into(func(b *Book) *[]Entry[Commitment] { return &b.Commitments }),
}

// into reads an entry into a list of the book, and one that cannot be read as parts says, if there is such
// a function.
func into[T record](list func(*Book) *[]Entry[T], parts ...func(into *T, e ledger.Entry, unread error) error) func(*Book, ledger.Entry) (fmt.Stringer, error) {
	return func(b *Book, e ledger.Entry) (fmt.Stringer, error) {
		made := Entry[T]{Seq: e.Seq, At: e.At, By: e.By, Hash: e.Hash}
		err := e.Decode(&made.Data)
		for _, part := range parts {
			if err != nil {
				err = part(&made.Data, e, err)
			}
		}
		*list(b) = append(*list(b), made)
		return made.Data, err
	}
}

// Describe says what an entry records, "" if it is of another kind or holds other data than
// expected.
func Describe(e ledger.Entry) string {
	if read := kinds[e.Kind]; read != nil {
		if said, err := read(new(Book), e); err == nil {
			return said.String()
		}
	}
	return ""
}

func (r Registration) String() string {
	judge := ""
	if r.Judge != nil {
		judge = "; judge " + r.Judge.String()
	}
	return strings.Join(append([]string{fmt.Sprintf("study %s, %s, %s; SHA-256 %s%s", r.Study, text.Plural(r.Items, "item", "items"), r.Test, r.Digest, judge)}, r.unknown()...), "; ")
}

func (t TestRun) String() string {
	return fmt.Sprintf("run %s of study %s, store %s; ran what has SHA-256 %s", t.Run, t.Study, t.Store, t.Digest)
}

func (s Seen) String() string {
	on := ""
	if s.Split != "" {
		on = " on " + strings.ToUpper(s.Split)
	}
	return fmt.Sprintf("run %s of study %s%s asks about %s not seen before, store %s", s.Run, s.Study, on, text.Plural(len(s.Inputs), "item", "items"), s.Store)
}

func (s Shown) String() string {
	return fmt.Sprintf("run %s of study %s: %s", s.Run, s.Study, text.Plural(s.Trials, "trial", "trials"))
}

func (u Unblinding) String() string {
	return fmt.Sprintf("study %s: %s; it allowed: %s", u.Study, u.Reason, strings.Join(u.Changes, "; "))
}

func (v Revision) String() string {
	behind := ""
	if v.Run != "" {
		behind = ", DEV run " + v.Run
	}
	if v.After != "" {
		behind += ", after TEST run " + v.After + " began"
	}
	return fmt.Sprintf("study %s%s: %s → %s", v.Study, behind, v.Hypothesis, v.Change)
}

func (b Blind) String() string { return fmt.Sprintf("study %s: %s", b.Study, b.Result) }

func (k Kit) String() string {
	return fmt.Sprintf("study %s: a kit of %s went out, SHA-256 %s", k.Study, text.Plural(len(k.Files), "file", "files"), k.Digest)
}

func (c Commitment) String() string {
	if c.Withdrawn != "" {
		return fmt.Sprintf("study %s: the commitment of %s to data with SHA-256 %s will have no result: %s", c.Study, c.Who, c.Data, c.Withdrawn)
	}
	return fmt.Sprintf("study %s: %s committed to data with SHA-256 %s", c.Study, c.Who, c.Data)
}

// Empty reports whether the ledger, and those above, say nothing of TEST.
func (b Book) Empty() bool {
	return len(b.Registrations)+len(b.Tests) == 0 && !slices.ContainsFunc(b.Above, func(above Book) bool { return !above.Empty() })
}

// of returns the entries of some studies.
func of[T interface{ Is(Owner) bool }](list []Entry[T], studies ...Owner) []Entry[T] {
	return slices.DeleteFunc(slices.Clone(list), func(e Entry[T]) bool { return !slices.ContainsFunc(studies, e.Data.Is) })
}

func last[T any](list []Entry[T]) (e Entry[T], ok bool) {
	if n := len(list); n > 0 {
		return list[n-1], true
	}
	return e, false
}

// Registration returns the newest registration of a study.
func (b Book) Registration(study Owner) (Entry[Registration], bool) {
	return last(of(b.Registrations, study))
}

// registrations are those of a study up to a TEST run of it, which began with the last one. Of those on
// another side of a merge their time decides.
func (b Book) registrations(t Entry[TestRun]) []Entry[Registration] {
	var apart, before []Entry[Registration]
	for _, g := range of(b.Registrations, t.Data.Owner) {
		switch {
		case b.before(g.Hash, t.Hash):
			before = append(before, g)
		case b.apart(g.Hash, t.Hash) && g.At < t.At:
			apart = append(apart, g)
		}
	}
	return append(apart, before...)
}

// before reports whether the ledger had an entry when another one was written. Without merges, their
// numbers say so.
func (b Book) before(entry, other string) bool {
	seen := map[string]bool{}
	for todo := []string{other}; len(todo) > 0 && !seen[entry]; {
		var next []string
		for _, hash := range todo {
			for _, was := range b.follows[hash] {
				if !seen[was] {
					seen[was], next = true, append(next, was)
				}
			}
		}
		todo = next
	}
	return seen[entry]
}

// apart reports whether two entries were written on two sides of a merge.
func (b Book) apart(entry, other string) bool {
	return entry != other && !b.before(entry, other) && !b.before(other, entry)
}

// RegistrationOf returns the registration that a TEST run began with.
func (b Book) RegistrationOf(t Entry[TestRun]) (Entry[Registration], bool) {
	return last(b.registrations(t))
}

// Test returns the entry of a run. That of a study whose folder was moved is found too.
func (b Book) Test(k RunKey) (Entry[TestRun], bool) {
	same := slices.DeleteFunc(slices.Clone(b.Tests), func(t Entry[TestRun]) bool { return !t.Data.is(k) })
	if same = append(of(same, k.Owner), same...); len(same) == 0 {
		return Entry[TestRun]{}, false
	}
	return same[0], true
}

// shownOf returns of how many trials of a run results were shown.
func (b Book) shownOf(k RunKey) (trials int) {
	for _, s := range b.Shown {
		if s.Data.is(k) {
			trials = max(trials, s.Data.Trials)
		}
	}
	return trials
}

// Saw reports whether the ledger lists what a run saw.
func (b Book) Saw(k RunKey) bool {
	return slices.ContainsFunc(b.Seen, func(s Entry[Seen]) bool { return s.Data.key().is(k) })
}

// seen are the inputs that the ledger lists as seen.
func (b Book) seen() map[string]bool {
	known := map[string]bool{}
	for _, s := range b.Seen {
		for _, in := range s.Data.Inputs {
			known[in] = true
		}
	}
	return known
}

// SawAny reports whether the ledger lists any of some inputs as seen.
func (b Book) SawAny(inputs []string) bool { return count(b.seen(), inputs) > 0 }

// Unseen returns the inputs that the ledger does not list as seen, at most [MostInputs].
func (b Book) Unseen(inputs []string) []string {
	known := b.seen()
	inputs = slices.Compact(slices.Sorted(slices.Values(inputs)))
	inputs = inputs[:min(len(inputs), MostInputs)]
	return slices.DeleteFunc(inputs, func(in string) bool { return known[in] })
}

// Others returns the other TEST runs of the ledger that have arms of a run: arms with
// the name or the content of one of them. Of a run of another version no arms are known.
func (b Book) Others(run Entry[TestRun]) []Entry[TestRun] {
	return slices.DeleteFunc(slices.Clone(b.Tests), func(t Entry[TestRun]) bool { return t.Seq == run.Seq || len(t.Data.Shared(run.Data)) == 0 })
}

// Shared lists the arms of a run that another one has by content or, which it says, by name alone.
func (t TestRun) Shared(other TestRun) (ids []string) {
	for _, a := range t.Arms {
		switch {
		case slices.ContainsFunc(other.Arms, func(b Arm) bool { return a.Hash == b.Hash }):
			ids = append(ids, a.ID)
		case slices.ContainsFunc(other.Arms, func(b Arm) bool { return a.ID == b.ID }):
			ids = append(ids, a.ID+" by name alone")
		}
	}
	return ids
}

// Of returns the revisions and unblindings of a study.
func (b Book) Of(study ...Owner) (revisions []Entry[Revision], unblindings []Entry[Unblinding]) {
	return of(b.Revisions, study...), of(b.Unblindings, study...)
}

// owners are the study of a run as it is now, and as it was in the entries of the run: its folder
// may have been moved.
func (b Book) owners(k RunKey) []Owner {
	list := []Owner{k.Owner}
	if t, ok := b.Test(k); ok {
		list = append(list, t.Data.Owner)
	}
	for _, s := range b.Seen {
		if s.Data.key().is(k) {
			list = append(list, s.Data.Owner)
		}
	}
	return list
}

// Registered returns the registration that has the most of some items, how many, and its ledger.
func (b Book) Registered(items Hashes) (r Entry[Registration], n int, in string) {
	shared := items.shared()
	for _, book := range append([]Book{b}, b.Above...) {
		for _, e := range book.Registrations {
			if k := shared(e.Data.Hashes); k > n {
				r, n, in = e, k, book.Path
			}
		}
	}
	return r, n, in
}

// Changes lists what differs between the newest registration of a study and what
// would run now. Nil: nothing does, or an unblinding accepted it.
func (b Book) Changes(now Registration) []string {
	r, ok := b.Registration(now.Owner)
	if !ok || b.accepted(now) && (r.Data.Digest != now.Digest || b.accepted(now, r.Hash)) {
		return nil
	}
	return r.Data.Differences(now)
}

// Differences lists what differs between two registrations. It shortens hashes: their
// first digits tell them apart.
func (r Registration) Differences(now Registration) []string {
	return append(eval.DiffParts(brief(r.Parts), brief(now.Parts)), r.changes(now.Outside)...)
}

// Accepts reports whether an unblinding accepted what would run now.
func (b Book) Accepts(now Registration) bool { return b.accepted(now) }

// accepted reports whether an unblinding behind all of some entries, given by their hashes, accepted
// what would run. One on another side of a merge knew nothing of them.
func (b Book) accepted(now Registration, behind ...string) bool {
	return slices.ContainsFunc(of(b.Unblindings, now.Owner), func(u Entry[Unblinding]) bool {
		return u.Data.Digest == now.Digest && !slices.ContainsFunc(behind, func(hash string) bool { return !b.before(hash, u.Hash) })
	})
}

// Objections lists the reasons for which a new TEST run is not allowed. seen names other
// runs with answers about its items, which the ledger may not know.
func (b Book) Objections(now Registration, seen []string) []string {
	before, last := b.seenBefore(now, seen)
	if len(before) > 0 && b.accepted(now, last...) {
		return nil
	}
	return append(b.Changes(now), before...)
}

// SeenBefore lists what has been seen of the items of a registration.
func (b Book) SeenBefore(now Registration, seen []string) []string {
	reasons, _ := b.seenBefore(now, seen)
	return reasons
}

// seenBefore is [Book.SeenBefore] with the hashes of the entries that say so. For one of a ledger
// above, they are those of the unblindings before it.
func (b Book) seenBefore(now Registration, seen []string) (reasons, last []string) {
	shared := now.shared()
	for i, book := range append([]Book{b}, b.Above...) {
		in, above := "the ledger", i > 0
		if above {
			in = book.Path
		}
		behind := func(hash, at string) {
			if !above {
				last = append(last, hash)
				return
			}
			for _, u := range b.Unblindings {
				if u.At < at {
					last = append(last, u.Hash)
				}
			}
		}
		for _, t := range book.Tests {
			if _, known := b.Test(t.Data.RunKey); above && known || shared(t.Data.Hashes) == 0 && (above || !t.Data.Is(now.Owner)) {
				continue
			}
			behind(t.Hash, t.At)
			reasons = append(reasons, fmt.Sprintf("TEST runs once, and %s began on %s (entry %d of %s, store %s)", t.Data.Run, Day(t.At), t.Seq, in, t.Data.Store))
		}
		for _, s := range book.Seen {
			n := shared(s.Data.Hashes)
			if n == 0 || above && b.Saw(s.Data.key()) {
				continue
			}
			behind(s.Hash, s.At)
			reasons = append(reasons, fmt.Sprintf("run %s of study %s had %d of the items outside of a TEST run, on %s (entry %d of %s, store %s)",
				s.Data.Run, s.Data.Study, n, Day(s.At), s.Seq, in, s.Data.Store))
		}
	}
	return append(reasons, answersAbout(seen)...), last
}

// answersAbout are the reasons that runs of stores are, which the ledger does not have.
func answersAbout(seen []string) (reasons []string) {
	for _, s := range seen {
		reasons = append(reasons, "there are answers about items of TEST: "+s)
	}
	return reasons
}

// Day is the date of a time in a ledger.
func Day(at string) string { return at[:min(len(at), len(time.DateOnly))] }

func count(has map[string]bool, list []string) (n int) {
	for _, s := range list {
		if has[s] {
			n++
		}
	}
	return n
}

func brief(parts []eval.Part) []eval.Part {
	parts = slices.Clone(parts)
	for i, p := range parts {
		if analyse.IsSum(p.Value) {
			parts[i].Value = p.Value[:12]
		}
	}
	return parts
}

// A Desk is a ledger open for writing: nobody else can start a TEST run meanwhile.
type Desk struct {
	Book Book
	log  *ledger.Log
	at   func() time.Time
	by   string
}

// Open opens the ledger of a study file. by is who acts.
func Open(study, by string, now func() time.Time) (*Desk, error) {
	path := Path(study)
	log, err := ledger.Open(path)
	if err != nil {
		return nil, err
	}
	d := &Desk{Book: Book{Path: path}, log: log, at: now, by: by}
	if err = d.Book.add(log.Entries()...); err == nil {
		err = d.Book.readAbove(study)
	}
	if err != nil {
		log.Close()
		return nil, err
	}
	return d, nil
}

// Close closes the ledger.
func (d *Desk) Close() error { return d.log.Close() }

// Unblind appends an unblinding, unless it allows a run and the ledger ends with the same one:
// the command was killed behind it, and is repeated.
func (d *Desk) Unblind(u Unblinding) error {
	if was, ok := last(d.Book.Unblindings); ok && u.Digest != "" && was.Hash == d.Book.Head.Hash && reflect.DeepEqual(was.Data, u) {
		return nil
	}
	return d.Add(u)
}

// Add appends an entry that says a record.
func (d *Desk) Add(r record) error {
	e, err := d.log.Append(d.at(), d.by, r.kind(), r)
	if err != nil {
		return err
	}
	return d.Book.add(e)
}
