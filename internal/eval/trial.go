package eval

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
)

// A Level is one setting of one named factor, such as kernel=ctn or
// doc_type=invoice. Lists of levels keep the order they were given in.
type Level struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// LevelOf returns the value of the named factor, or "" if the list does not have it.
func LevelOf(levels []Level, name string) string {
	for _, l := range levels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// An Item is one input to the arms: a document, a request, a fragment. It has what
// planning and analysis need, but not the content.
type Item struct {
	ID      string  // unique in the study
	Split   string  // "dev", "test" or "" for none
	Strata  []Level // doc type, difficulty, group …: results are broken down by them
	Cluster string  // items of one cluster are resampled together; "" means a cluster of its own
	Input   Hash    // hash of what arms receive
	Gold    Hash    // hash of what answers are scored against
	// Material is a hash of the document or request alone, whatever names and settings Input covers
	// beside it; 0 if it covers none. The ledger knows the items of TEST by either.
	Material Hash
}

// A Hash detects changed content. It is a number to save memory in studies with
// tens of thousands of items.
type Hash uint64

// HashOf returns the first 64 bits of a SHA-256.
func HashOf(content []byte) Hash {
	sum := sha256.Sum256(content)
	return Hash(binary.BigEndian.Uint64(sum[:8]))
}

// String returns the hash as 16 hexadecimal digits, the stored form.
func (h Hash) String() string {
	return hex.EncodeToString(binary.BigEndian.AppendUint64(nil, uint64(h)))
}

// ParseHash parses the form that String returns.
func ParseHash(s string) (h Hash, err error) {
	if _, err := fmt.Sscanf(s, "%016x", (*uint64)(&h)); err != nil || len(s) != 16 {
		return 0, fmt.Errorf("invalid hash %q: want 16 hexadecimal digits", s)
	}
	return h, nil
}

// An ItemIndex finds items by id, with four bytes per item.
type ItemIndex struct {
	items  []Item
	sorted []int32
}

// IndexItems indexes a list, which must not change afterwards.
func IndexItems(items []Item) *ItemIndex {
	x := &ItemIndex{items: items, sorted: make([]int32, len(items))}
	for i := range x.sorted {
		x.sorted[i] = int32(i)
	}
	slices.SortFunc(x.sorted, func(a, b int32) int { return cmp.Compare(items[a].ID, items[b].ID) })
	return x
}

// Find returns the index of an item in the list.
func (x *ItemIndex) Find(id string) (int, bool) {
	k, ok := slices.BinarySearchFunc(x.sorted, id, func(i int32, id string) int { return cmp.Compare(x.items[i].ID, id) })
	if !ok {
		return 0, false
	}
	return int(x.sorted[k]), true
}

// Sorted returns the indexes of the items in order of their ids.
func (x *ItemIndex) Sorted() []int32 { return slices.Clone(x.sorted) }

// Duplicate returns the indexes of two items with the same id, if any.
func (x *ItemIndex) Duplicate() (first, second int, ok bool) {
	for k := 1; k < len(x.sorted); k++ {
		if a, b := int(x.sorted[k-1]), int(x.sorted[k]); x.items[a].ID == x.items[b].ID {
			return min(a, b), max(a, b), true
		}
	}
	return 0, 0, false
}

// ClusterID returns the cluster of the item, by default its own id.
func (it Item) ClusterID() string {
	if it.Cluster != "" {
		return it.Cluster
	}
	return it.ID
}

// Role is the purpose of an arm in the study.
type Role string

// The roles an arm can have.
const (
	RoleArm         Role = ""            // a contestant
	RoleBaseline    Role = "baseline"    // a lower bound, reported beside the contestants
	RoleCalibration Role = "calibration" // answers from gold to measure the judges; never reported as an arm
)

// An Arm is one thing under test: a combination of factor levels.
type Arm struct {
	ID        string  // unique in the study, stable across runs
	Levels    []Level // kernel, model, method, attack …
	Role      Role
	Model     string // id of the arm's model in the study, or ""
	Simulated bool   // answers are simulated and labelled so everywhere
	Given     bool   // answers are from a file, which does not say what they took
	Hash      string // hash of everything that determines the arm's behaviour: prompt bytes, settings
	// Judges are the judges of the arm's trials: ids of the study's models, names of
	// rules, or pipelines. If empty, the arm is not judged.
	Judges []string
	// Shape is the same for arms with similar requests in number and length, such as
	// arms that differ only in their attack: they share one estimate. "" means that
	// the arm shares none.
	Shape string
}

// A Trial is one item, one arm and one replicate. It is its own stable key.
type Trial struct {
	Item      string
	Arm       string
	Replicate int // from 1
}

// A Basis is what a trial depends on beyond the input of its item and the hash of its
// arm, as hashes; 0 is nothing. A trial with another basis is derived again: from its
// answers if they are to the same requests, else it is asked again.
type Basis struct {
	// Asked is what its requests depend on, such as the gold that a simulated model
	// answers from.
	Asked Hash
	// Read is what its outcome depends on beside the answers: the gold that a local arm
	// answers from, limits and settings of the reader.
	Read Hash
	// Judged is what its verdicts depend on beside the outcome: prompt, reference, rubric,
	// and the rule that decides whether to ask. The models of judges need not be in it.
	Judged Hash
}

func (t Trial) String() string { return fmt.Sprintf("%s × %s #%d", t.Item, t.Arm, t.Replicate) }
