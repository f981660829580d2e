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

// LevelOf returns the value of the named factor, or "" when the list has none.
func LevelOf(levels []Level, name string) string {
	for _, l := range levels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// An Item is one thing the arms are tried on: a document, a request, a
// fragment. It carries what planning and analysis need, never the content.
type Item struct {
	ID      string  // unique in the study
	Split   string  // "dev", "test" or "" where the data have no split
	Strata  []Level // doc type, difficulty, group …: what results are broken down by
	Cluster string  // items of one cluster are resampled together; "" means the item is its own
	Input   Hash    // of what arms are given
	Gold    Hash    // of what answers are scored against
}

// A Hash tells whether content is what it was. Studies hold tens of thousands
// of items, so it is a number and not a text.
type Hash uint64

// HashOf is the first 64 bits of a SHA-256.
func HashOf(content []byte) Hash {
	sum := sha256.Sum256(content)
	return Hash(binary.BigEndian.Uint64(sum[:8]))
}

// String is the hash as 16 hexadecimal digits, as it is stored.
func (h Hash) String() string {
	return hex.EncodeToString(binary.BigEndian.AppendUint64(nil, uint64(h)))
}

// ParseHash reads what String wrote.
func ParseHash(s string) (h Hash, err error) {
	if _, err := fmt.Sscanf(s, "%016x", (*uint64)(&h)); err != nil || len(s) != 16 {
		return 0, fmt.Errorf("%q is no hash of 16 hexadecimal digits", s)
	}
	return h, nil
}

// An ItemIndex finds items by id, in four bytes an item.
type ItemIndex struct {
	items  []Item
	sorted []int32
}

// IndexItems makes the index of a list, which must not change afterwards.
func IndexItems(items []Item) *ItemIndex {
	x := &ItemIndex{items: items, sorted: make([]int32, len(items))}
	for i := range x.sorted {
		x.sorted[i] = int32(i)
	}
	slices.SortFunc(x.sorted, func(a, b int32) int { return cmp.Compare(items[a].ID, items[b].ID) })
	return x
}

// Find gives the place of an item in the list.
func (x *ItemIndex) Find(id string) (int, bool) {
	k, ok := slices.BinarySearchFunc(x.sorted, id, func(i int32, id string) int { return cmp.Compare(x.items[i].ID, id) })
	if !ok {
		return 0, false
	}
	return int(x.sorted[k]), true
}

// Sorted lists the places of the items in order of their ids.
func (x *ItemIndex) Sorted() []int32 { return slices.Clone(x.sorted) }

// Duplicate gives the places of two items with one id, if there are such.
func (x *ItemIndex) Duplicate() (first, second int, ok bool) {
	for k := 1; k < len(x.sorted); k++ {
		if a, b := int(x.sorted[k-1]), int(x.sorted[k]); x.items[a].ID == x.items[b].ID {
			return min(a, b), max(a, b), true
		}
	}
	return 0, 0, false
}

// ClusterID is the cluster the item belongs to: its own id unless it names one.
func (it Item) ClusterID() string {
	if it.Cluster != "" {
		return it.Cluster
	}
	return it.ID
}

// Role says what an arm is in the study for.
type Role string

// The roles an arm can have.
const (
	RoleArm         Role = ""            // a contestant
	RoleBaseline    Role = "baseline"    // a lower bound, reported beside the contestants
	RoleCalibration Role = "calibration" // answers from gold, to measure the judges; never reported as an arm
)

// An Arm is one thing under test: a combination of factor levels.
type Arm struct {
	ID        string  // unique in the study, stable across runs
	Levels    []Level // kernel, model, method, attack …
	Role      Role
	Model     string // id of the study's model the arm asks, "" for an arm that asks none
	Simulated bool   // answers come from a simulation and are labelled so everywhere
	Hash      string // of everything that decides what the arm does: prompt bytes, settings
	// Judges are the judges that trials of the arm are given to: ids of the
	// study's models, names of rules, or pipelines. None: the arm is not judged.
	Judges []string
	// Shape is the same for arms whose requests are alike in number and length,
	// such as those that differ in their attack: one estimate stands for all of
	// them. "" means that the arm is like no other.
	Shape string
}

// A Trial is one item given to one arm once. It is its own stable key.
type Trial struct {
	Item      string
	Arm       string
	Replicate int // from 1
}

func (t Trial) String() string { return fmt.Sprintf("%s × %s #%d", t.Item, t.Arm, t.Replicate) }
