package attack

import "github.com/scruple-eval/scruple/internal/suites/rerank/catalog"

// Apply attacks reviews beside those of others.
func (a *Attack) Apply(reviews []catalog.Review, item *catalog.Item, o Options, seed uint64, others ...catalog.Review) ([]catalog.Review, Change) {
	return a.run(reviews, item, o, seed, func() []catalog.Review { return others })
}
