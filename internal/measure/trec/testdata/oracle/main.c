// What main() of trec_eval -q does for five measures, at full precision, over
// the rest of trec_eval as it stands compiled in pytrec_eval's extension.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { char *name, *parameters; } MEAS_ARG;
typedef struct {
	long query, summary, debug; char *debug_query;
	long relation, complete, judged_only, num_docs, relevance_level, max_docs;
	char *rel_info_format, *results_format; long zscore; MEAS_ARG *meas_arg;
} EPI;
typedef struct { char *name; double value; } VALUE;
typedef struct { char *qid; long num_queries; VALUE *values; long num_values, max_values; } TREC_EVAL;
typedef struct { char *qid, *run_id, *format; void *results; } RESULTS;
typedef struct { long num, max; RESULTS *of; } ALL_RESULTS;
typedef struct { char *qid, *format; void *info; } REL_INFO;
typedef struct { long num, max; REL_INFO *of; } ALL_REL_INFO;
typedef struct MEAS {
	char *name, *explanation;
	int (*init)(EPI *, struct MEAS *, TREC_EVAL *);
	int (*calc)(const EPI *, const REL_INFO *, const RESULTS *, const struct MEAS *, TREC_EVAL *);
	int (*acc)(const EPI *, const struct MEAS *, const TREC_EVAL *, TREC_EVAL *);
	int (*avg)(const EPI *, const struct MEAS *, const ALL_REL_INFO *, TREC_EVAL *);
	int (*print_single)(void), (*print_final)(void);
	void *params; long eval_index;
} MEAS;

extern int te_get_qrels(EPI *, char *, ALL_REL_INFO *), te_get_trec_results(EPI *, char *, ALL_RESULTS *);
extern MEAS te_meas_success, te_meas_recip_rank, te_meas_ndcg_cut, te_meas_map, te_meas_P;
static MEAS *meas[] = {&te_meas_success, &te_meas_recip_rank, &te_meas_ndcg_cut, &te_meas_map, &te_meas_P};
enum { N = sizeof meas / sizeof *meas };

static void print(FILE *f, char *qid, TREC_EVAL *e) {
	for (long i = 0; i < e->num_values; i++)
		fprintf(f, "%s\t%s\t%.17g\n", e->values[i].name, qid, e->values[i].value);
}

// te_main gives trec_eval's exit code.
int te_main(char *qrels, char *run, char *out) {
	MEAS_ARG none = {0};
	EPI epi = {.summary = 1, .query = 1, .relation = 1, .relevance_level = 1, .max_docs = LONG_MAX,
		.rel_info_format = "qrels", .results_format = "trec_results", .meas_arg = &none};
	ALL_REL_INFO rel;
	ALL_RESULTS res;
	TREC_EVAL all = {"all"}, q;
	if (te_get_qrels(&epi, qrels, &rel) == -1 || te_get_trec_results(&epi, run, &res) == -1)
		return 2;
	for (int m = 0; m < N; m++) {
		meas[m]->eval_index = -2;
		if (meas[m]->init(&epi, meas[m], &all) == -1)
			return 2;
	}
	q = all;
	q.values = malloc(all.num_values * sizeof(VALUE));
	memcpy(q.values, all.values, all.num_values * sizeof(VALUE));
	FILE *f = fopen(out, "w");
	for (long i = 0; i < res.num; i++) {
		long j = 0;
		while (j < rel.num && strcmp(res.of[i].qid, rel.of[j].qid))
			j++;
		if (j == rel.num)
			continue;
		for (long v = 0; v < q.num_values; v++)
			q.values[v].value = 0;
		for (int m = 0; m < N; m++)
			if (meas[m]->calc(&epi, &rel.of[j], &res.of[i], meas[m], &q) == -1)
				return 4;
		for (int m = 0; m < N; m++)
			meas[m]->acc(&epi, meas[m], &q, &all);
		print(f, res.of[i].qid, &q);
		all.num_queries++;
	}
	if (!all.num_queries)
		return 7;
	for (int m = 0; m < N; m++)
		meas[m]->avg(&epi, meas[m], &rel, &all);
	print(f, "all", &all);
	return fclose(f);
}
