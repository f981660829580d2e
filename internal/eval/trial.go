package eval

import "fmt"

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
	Input   string  // hash of what arms are given
	Gold    string  // hash of what answers are scored against
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
}

// A Trial is one item given to one arm once. It is its own stable key.
type Trial struct {
	Item      string
	Arm       string
	Replicate int // from 1
}

func (t Trial) String() string { return fmt.Sprintf("%s × %s #%d", t.Item, t.Arm, t.Replicate) }
