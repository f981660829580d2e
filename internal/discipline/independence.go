package discipline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// namedInputs is how many clusters a message names.
const namedInputs = 5

// Independent returns the items with one cluster for equal inputs: the same question under
// eight ids is one observation, not eight. Clusters that the data give are joined where they
// share an input. The note names the items; it is empty if all inputs differ.
func Independent(items []eval.Item) (list []eval.Item, note string) {
	root := make([]int, len(items))
	find := func(i int) int {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	first := make(map[eval.Hash]int, len(items))
	clusters := map[string]int{}
	equal := map[eval.Hash][]string{} // ids, of inputs that several items have
	for i, it := range items {
		root[i] = i
		if k, ok := first[it.Input]; !ok {
			first[it.Input] = i
		} else if it.Input != 0 { // a suite without inputs
			if equal[it.Input] == nil {
				equal[it.Input] = []string{items[k].ID}
			}
			equal[it.Input] = append(equal[it.Input], it.ID)
			root[i] = find(k)
		}
		if it.Cluster == "" {
			continue
		}
		if k, ok := clusters[it.Cluster]; ok {
			root[find(i)] = find(k)
		} else {
			clusters[it.Cluster] = i
		}
	}
	if len(equal) == 0 {
		return items, ""
	}
	var named []string
	repeats := 0
	joined := map[int]bool{} // roots of the clusters that repeated inputs join
	for input, ids := range equal {
		repeats += len(ids) - 1
		slices.Sort(ids)
		named = append(named, strings.Join(shortened(ids), " = "))
		joined[find(first[input])] = true
	}
	slices.Sort(named)
	given, made := map[int]string{}, map[int]string{} // the least names that joined clusters have, and that they can have
	least := func(names map[int]string, root int, name string) {
		if was, ok := names[root]; name != "" && (!ok || name < was) {
			names[root] = name
		}
	}
	for i, it := range items {
		if r := find(i); joined[r] {
			least(given, r, it.Cluster)
			least(made, r, "input of "+it.ID)
		}
	}
	list = slices.Clone(items)
	for i := range list {
		if r := find(i); joined[r] {
			list[i].Cluster = cmp.Or(given[r], made[r])
		}
	}
	return list, fmt.Sprintf("%s the input of another item, so they are one observation, in one cluster: %s", text.Plural(repeats, "item repeats", "items repeat"), strings.Join(shortened(named), "; "))
}

// shortened names the first of a list and counts the others.
func shortened(names []string) []string {
	if len(names) <= namedInputs {
		return names
	}
	return append(slices.Clone(names[:namedInputs]), fmt.Sprintf("%d more", len(names)-namedInputs))
}

// straddling names the clusters with items on DEV and on TEST.
func straddling(items []eval.Item) []string {
	on := map[string]map[string]string{} // the first item by split, by cluster
	for _, it := range items {
		if it.Cluster == "" || it.Split == "" {
			continue
		}
		if on[it.Cluster] == nil {
			on[it.Cluster] = map[string]string{}
		}
		if id, ok := on[it.Cluster][it.Split]; !ok || it.ID < id {
			on[it.Cluster][it.Split] = it.ID
		}
	}
	var list []string
	for name, ids := range on {
		if ids[study.SplitDev] != "" && ids[study.SplitTest] != "" {
			list = append(list, fmt.Sprintf("%s (dev: %s, test: %s)", name, ids[study.SplitDev], ids[study.SplitTest]))
		}
	}
	slices.Sort(list)
	return list
}

// Separate checks that DEV and TEST share no cluster: what DEV was tuned on would be
// confirmed by itself. If the study allows it, the note says so.
func Separate(s *study.Study, items []eval.Item) (note string, err error) {
	if s.Split == "" {
		return "", nil
	}
	shared := straddling(items)
	if len(shared) == 0 {
		return "", nil
	}
	what := fmt.Sprintf("%s items on DEV and on TEST: %s", text.Plural(len(shared), "cluster has", "clusters have"), strings.Join(shortened(shared), "; "))
	if s.SharedClusters {
		return what + "; what was chosen on DEV passes on TEST too often by chance", nil
	}
	return "", fmt.Errorf("%s: TEST would confirm what was chosen on the same clusters. Give all items of a cluster one split, or allow it with shared_clusters: true", what)
}
