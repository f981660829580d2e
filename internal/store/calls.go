package store

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
)

// CallSums sums the calls of a run's plan, without embeddings.
type CallSums []callSum

// A callSum sums the calls of an arm in one stage that a version of a model answered,
// or that failed.
type callSum struct {
	Model, Version string
	Prices         string
	Program        bool // a program was asked, not a model
	Answered       bool
	eval.ArmCalls
	Cut     bool
	Adapted bool
	Place   int64 // of the first trial
	First   eval.Trial
}

// CallSums sums the calls of a run. It reads them once for all sums: most of the cost is
// reading the rows.
func (db *DB) CallSums(ctx context.Context, run *Run) (CallSums, error) {
	return all[callSum](ctx, db, `SELECT s.*, f.item, f.arm, f.replicate FROM (
		SELECT model, model_version, prices, program, answered, arm, stage, count(*), coalesce(sum(CASE WHEN attempts > sent THEN attempts ELSE sent END - 1) FILTER (WHERE attempts > 1 OR sent > 1), 0), sum(input_tokens), sum(output_tokens),
			sum(cached_tokens), sum(reasoning_tokens), total(cost_usd), count(*) FILTER (WHERE cost_usd IS NULL AND answered), count(*) FILTER (WHERE usage_flags & 4 <> 0),
			`+uncounted+`, count(*) FILTER (WHERE stop = 'other'),
			count(source), total(CASE WHEN source IS NULL THEN 0 ELSE cost_usd END), count(*) FILTER (WHERE cut) > 0, count(adapted) > 0, min(place) AS place
		FROM (SELECT t.arm, t.place, c.stage, c.model, c.model_version, c.prices, c.provider IN ('exec', 'http') AS program, c.error_kind = '' AS answered, c.attempts, (SELECT count(*) FROM attempts a
				WHERE a.trial = c.trial AND a.stage = c.stage AND a.step = c.step) AS sent, c.input_tokens, c.output_tokens, c.cached_tokens, c.reasoning_tokens,
				c.cost_usd, c.usage_flags, c.stop, c.source, c.adapted, c.adapted LIKE ? AS cut
			FROM `+planned+`calls c ON c.trial = t.id WHERE `+inPlan+inForce+` AND c.stage <> 'embed') AS c
		GROUP BY arm, stage, model, model_version, prices, program, answered) AS s JOIN trials f ON f.run = ? AND f.place = s.place ORDER BY s.arm, s.stage, s.model, s.model_version, s.prices, s.program, s.answered`,
		modelText("%"+eval.CutNote+"%"), run, run)
}

// ByArm sums by arm and stage, ordered by both.
func (sums CallSums) ByArm() []eval.ArmCalls {
	var list []eval.ArmCalls
	for _, s := range sums {
		if n := len(list); n > 0 && list[n-1].Arm == s.Arm && list[n-1].Stage == s.Stage {
			list[n-1].Add(s.ArmCalls)
			continue
		}
		list = append(list, s.ArmCalls)
	}
	return list
}

// Versions counts the answered calls of each arm by model version, ordered by arm
// and version.
func (sums CallSums) Versions() []eval.ArmVersion {
	return sums.count(eval.StageRun, func(s callSum) string { return s.Arm })
}

// Models are the names of the models that answered each arm, as the requests had them.
func (sums CallSums) Models() map[string][]string {
	models := map[string][]string{}
	for _, s := range sums {
		if s.Stage == eval.StageRun && s.Answered && !slices.Contains(models[s.Arm], s.Model) {
			models[s.Arm] = append(models[s.Arm], s.Model)
		}
	}
	return models
}

// JudgeVersions counts the answers to judge calls by model and model version, ordered
// by both.
func (sums CallSums) JudgeVersions() []eval.ArmVersion {
	return sums.count(eval.StageJudge, func(s callSum) string { return s.Model })
}

// JudgedBy counts the answers to judge calls of each arm by model version, ordered by
// both. The scorer of the study is no judge.
func (sums CallSums) JudgedBy() []eval.ArmVersion {
	models := slices.DeleteFunc(slices.Clone(sums), func(s callSum) bool { return s.Program })
	return models.count(eval.StageJudge, func(s callSum) string { return s.Arm })
}

// Prices counts the answered calls of each arm by the prices of what they cost, ordered by arm, model
// and price.
func (sums CallSums) Prices() (list []eval.ArmPrice) {
	calls := map[eval.ArmPrice]int{}
	for _, s := range sums {
		for _, p := range eval.PricesOf(s.Prices) {
			if s.Stage == eval.StageRun && s.Answered {
				calls[eval.ArmPrice{Arm: s.Arm, Price: p}] += s.Calls
			}
		}
	}
	for p, n := range calls {
		p.Calls = n
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b eval.ArmPrice) int {
		return cmp.Or(cmp.Compare(a.Arm, b.Arm), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Price.Price, b.Price.Price))
	})
	return list
}

func (sums CallSums) count(stage eval.Stage, name func(callSum) string) []eval.ArmVersion {
	calls := map[eval.ArmVersion]int{}
	for _, s := range sums {
		if s.Stage == stage && s.Answered {
			calls[eval.ArmVersion{Arm: name(s), Version: s.Version}] += s.Calls
		}
	}
	var list []eval.ArmVersion
	for v, n := range calls {
		v.Calls = n
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b eval.ArmVersion) int {
		return cmp.Or(cmp.Compare(a.Arm, b.Arm), cmp.Compare(a.Version, b.Version))
	})
	return list
}

// Scorers returns, by arm, the parts of a request to the scorer of the study, the only program that
// is asked as judges are.
func (db *DB) Scorers(ctx context.Context, run *Run) (map[string][]eval.Part, error) {
	stored, err := mapped[string, string](ctx, db, `SELECT t.arm, c.parts FROM calls c JOIN trials t ON t.id = c.trial WHERE c.id IN (
		SELECT min(c.id) FROM `+planned+`calls c ON c.trial = t.id WHERE `+inPlan+inForce+` AND c.stage = 'judge' AND c.error_kind = '' AND c.provider IN ('exec', 'http') GROUP BY t.arm)`, run)
	parts := make(map[string][]eval.Part, len(stored))
	for arm, text := range stored {
		parts[arm] = eval.DecodeParts(text)
	}
	return parts, err
}

// An Asked is the first trial of an arm, in plan order, in which a model answered in a
// stage.
type Asked struct {
	Stage eval.Stage
	Model string // the provider's name of it
	Trial eval.Trial
}

// First returns the first answered trial of every stage, model and arm, in plan order.
func (sums CallSums) First() []Asked {
	answered := slices.DeleteFunc(slices.Clone(sums), func(s callSum) bool { return !s.Answered })
	slices.SortStableFunc(answered, func(a, b callSum) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(b.Stage, a.Stage), cmp.Compare(a.Model, b.Model))
	})
	var list []Asked
	for _, s := range answered {
		if !slices.ContainsFunc(list, func(a Asked) bool { return a.Stage == s.Stage && a.Model == s.Model && a.Trial.Arm == s.Arm }) {
			list = append(list, Asked{s.Stage, s.Model, s.First})
		}
	}
	return list
}

// Cut reports whether a server cut a prompt.
func (sums CallSums) Cut() bool {
	return slices.ContainsFunc(sums, func(s callSum) bool { return s.Cut })
}

// Adapted reports whether a request was changed.
func (sums CallSums) Adapted() bool {
	return slices.ContainsFunc(sums, func(s callSum) bool { return s.Adapted })
}

// Reused reports whether an answer was taken from another call.
func (sums CallSums) Reused() bool {
	return slices.ContainsFunc(sums, func(s callSum) bool { return s.ArmCalls.Reused > 0 })
}

// Taken yields what the calls of each trial of [DB.Outcomes] took in the stage of the run, in
// the same order. A trial without calls took nothing.
func (db *DB) Taken(ctx context.Context, run *Run) iter.Seq2[eval.Taken, error] {
	return db.taken(ctx, inPlan, run)
}

func (db *DB) taken(ctx context.Context, where string, args ...any) iter.Seq2[eval.Taken, error] {
	const ofFiles = `c.provider IN ('outputs', 'run` + eval.OfOutputs + `')`
	return rows[eval.Taken](ctx, db, `SELECT t.item, t.arm, t.replicate, count(c.id), CASE WHEN count(*) FILTER (WHERE c.cost_usd IS NULL AND c.error_kind = '' OR `+ofFiles+`) = 0 THEN total(c.cost_usd) END,
		total(c.latency_ms) / 1000, coalesce(sum(`+tokensIn+`), 0), coalesce(sum(`+tokensOut+`), 0), `+uncounted+` > 0, count(*) FILTER (WHERE `+ofFiles+`) > 0, '', '', 0, 0
		FROM `+planned+`outcomes o ON o.trial = t.id LEFT JOIN calls c ON c.trial = t.id AND c.stage = 'run'`+inForce+`
		WHERE `+where+` GROUP BY t.place, t.id ORDER BY t.place`, args...)
}

// CallsOf returns the calls of a trial in one stage by step, stale ones included. The
// attempts are left out.
func (db *DB) CallsOf(ctx context.Context, run *Run, t eval.Trial, stage eval.Stage) (map[string]eval.Call, error) {
	id, err := run.id(t)
	if err != nil {
		return nil, err
	}
	calls := map[string]eval.Call{}
	for c, err := range db.calls(ctx, `calls c JOIN trials t ON t.id = c.trial WHERE t.run = ? AND c.trial = ? AND c.stage = ?`, run, id, string(stage)) {
		if err != nil {
			return nil, err
		}
		calls[c.Step] = c
	}
	return calls, nil
}

// CallsIn yields the calls of the trials from a place in the plan to another, which is not
// included, as [DB.CallsOf] has them.
func (db *DB) CallsIn(ctx context.Context, run *Run, from, to int) iter.Seq2[eval.Call, error] {
	return db.calls(ctx, planned+`calls c ON c.trial = t.id WHERE `+inPlaces+` ORDER BY t.place, c.stage, c.step`, run, from, to)
}
