"""Writes ../hard.json and ../random.json.gz with values of trec_eval itself.

    pip install pytrec_eval-terrier==0.5.11
    gcc -shared -fPIC -o libte.so main.c && python oracle.py

The extension holds trec_eval 9.0.8, which reads scores as float32. Where a run
has scores that only float64 tells apart, trec_eval is given their ranks as
scores; `single` counts the queries that it measures otherwise from the scores
themselves. A case that trec_eval refuses has no values.
"""
import collections, ctypes, glob, gzip, json, os, random, struct, sys, tempfile

MEASURES = ["success_1", "success_5", "success_10", "recip_rank", "ndcg_cut_5", "ndcg_cut_10", "map", "P_5", "P_10"]
here = os.path.dirname(os.path.abspath(__file__))
site = next(p for p in sys.path if glob.glob(p + "/pytrec_eval_ext*.so"))
ctypes.CDLL(glob.glob(site + "/pytrec_eval_ext*.so")[0], mode=os.RTLD_GLOBAL | os.RTLD_NOW)
te = ctypes.CDLL(here + "/libte.so")


def trec_eval(qrels, run):
    """{query: {measure: value}}, or None where trec_eval refuses"""
    with tempfile.TemporaryDirectory() as d:
        for name, text in (("qrels", qrels), ("run", run)):
            with open(f"{d}/{name}", "wb") as f:
                f.write(text.encode())
        pid = os.fork()  # it exits, crashes and keeps static state
        if pid == 0:
            os.dup2(os.open("/dev/null", os.O_WRONLY), 2)
            os._exit(te.te_main(*(f"{d}/{n}".encode() for n in ("qrels", "run", "out"))))
        if os.waitpid(pid, 0)[1] != 0:
            return None
        values = collections.defaultdict(dict)
        for line in open(f"{d}/out", encoding="utf-8", newline="\n"):
            measure, query, value = line.rstrip("\n").split("\t")
            if measure in MEASURES:
                values[query][measure] = float(value)
        return values


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0] if abs(x) < 3.4e38 else float("inf") * (1 if x > 0 else -1)


def as_ranks(run):
    """the run with ranks for scores, or itself where float32 makes no more ties"""
    by = collections.defaultdict(set)
    rows = [line.split(None, 5) for line in run.encode().split(b"\n") if line.split()]  # bytes: C's white space
    for r in rows:
        by[r[0]].add(float(r[4]))
    if all(len(s) == len({single(x) for x in s}) for s in by.values()):
        return run
    rank = {q: {x: i for i, x in enumerate(sorted(s))} for q, s in by.items()}
    return b"".join(b" ".join([*r[:4], b"%d" % rank[r[0]][float(r[4])], b"t\n"]) for r in rows).decode()


def case(name, run, qrels):
    c = {"name": name, "run": run.split("\n"), "qrels": qrels.split("\n")}
    values = trec_eval(qrels, as_ranks(run))
    if values:
        old = trec_eval(qrels, run)
        c["single"] = sum(values[q] != old[q] for q in values if q != "all")
        c["values"] = values
    return c


def ranked(query, scores, tag="t", sep=" "):
    return "".join(sep.join([query, "Q0", d, "1", s, tag]) + "\n" for d, s in scores)


def judged(query, relevance, sep=" "):
    return "".join(sep.join([query, "0", d, str(r)]) + "\n" for d, r in relevance.items())


def hard():
    abc = judged("1", {"a": 1, "b": 0, "c": 2})
    yield "ties: last in the alphabet first, by bytes", ranked("1", [(d, "1") for d in ["a", "B", "é", "z", "文", "😀", "b", "c", "10", "9"]]), abc
    yield "scores that tie as float32", ranked("1", [("b", "0.50000000001"), ("c", "0.5"), ("a", "0.50000000002")]), abc
    yield "whole numbers beyond float32", ranked("1", [("a", "16777217"), ("b", "16777216"), ("c", "16777218")]), abc
    yield "scores beyond float32", ranked("1", [("a", "1e40"), ("b", "1e39"), ("c", "-1e300")]), abc
    yield "scores beyond float64", ranked("1", [("a", "1e400"), ("b", "1e500"), ("c", "-1e400")]), abc
    yield "ways to write a score", ranked("1", [("a", "+1E-2"), ("b", ".5"), ("c", "5."), ("d", "-0"), ("e", "0.0"), ("f", "-inf"), ("g", "Infinity"), ("h", "1e-400")]), abc
    yield "negative scores", ranked("1", [("a", "-0.5"), ("b", "-12.25"), ("c", "-3")]), abc
    yield "fewer than k", ranked("1", [("c", "2")]), abc
    yield "twelve relevant, of three levels", ranked("1", [("d%d" % i, str(-i)) for i in range(15)]), judged("1", {"d%d" % i: i % 4 for i in range(16)})
    yield "relevance below 0", ranked("1", [("a", "3"), ("b", "2"), ("c", "1")]), judged("1", {"a": -1, "b": -2, "c": 1})
    yield "nothing relevant", ranked("1", [("a", "3")]) + ranked("2", [("a", "3")]), judged("1", {"a": 0, "b": 0}) + judged("2", {"a": 1})
    yield "only judged below 0", ranked("0", [("a", "1")]) + ranked("1", [("a", "3")]), judged("0", {"a": 1}) + judged("1", {"a": -1})
    yield "queries that one of both has", ranked("1", [("a", "3")]) + ranked("9", [("a", "3")]), abc + judged("3", {"a": 1})
    yield "queries out of order and interleaved", "2 Q0 a 1 1 t\n10 Q0 a 1 1 t\n2 Q0 b 1 3 t\n1 Q0 c 1 1 t\n10 Q0 b 1 0 t\n", "10 0 a 1\n1 0 c 1\n2 0 b 0\n10 0 b 0\n2 0 a 1\n"
    yield "query ids are text", ranked("1", [("a", "1")]) + ranked("01", [("b", "1")]) + ranked("1.0", [("b", "1")]), abc + judged("01", {"b": 1})
    yield "tabs, blanks, form feeds", ranked("1", [("a", "1"), ("b", "3")], "t \t", "\t") + "  1 \t Q0\v c\f1   2 t\n\n \t\n", judged("1", {"a": 1, "c": 2}, " \t ")
    yield "CRLF, no last newline", ranked("1", [("a", "1"), ("b", "3")], "t\r").rstrip("\r\n"), abc.replace("\n", "\r\n").rstrip()
    yield "a tag of several words", ranked("1", [("a", "1"), ("c", "3")], "BM25 + RM3, second try"), abc
    yield "blanks that C does not know", ranked("1", [("a\u00a0x", "1"), ("a", "3"), ("a\u3000y", "2"), ("a\u0085z", "4")]), judged("1", {"a\u00a0x": 1, "a\u3000y": 2})
    yield "relevance with a sign", ranked("1", [("a", "2"), ("b", "1")]), "1 0 a +1\n1 0 b 02\n"
    yield "twice where it does not count", ranked("1", [("a", "2")]) + ranked("2", [("a", "2"), ("a", "1")]), abc + judged("3", {"a": 1}) * 2
    yield "a document ranked twice", ranked("1", [("a", "2"), ("b", "1.5"), ("a", "1")]), abc
    yield "a document judged twice", ranked("1", [("a", "2")]), abc + "1 0 a 1\n"
    yield "no query in common", ranked("2", [("a", "2")]), abc


def chance(r):
    """a pair of files with a bit of everything"""
    forms = [
        lambda: str(r.randint(0, 5)), lambda: repr(r.random()), lambda: "%.2e" % (r.uniform(-1, 1) * 10 ** r.randint(-40, 37)),
        lambda: r.choice(["inf", "-inf", "0", "-0", "1", "+1", ".5", "-1e-3"]), lambda: "%.12f" % (0.5 + r.randint(0, 20) * 1e-10),
        lambda: str(16777216 + r.randint(0, 6)), lambda: "%.1f" % r.gauss(0, 1),
    ]
    levels = [[0, 1], [0, 0, 0, 1, 2, 3], [0], [-1, 0, 1, 2], [-1, 0], [0, 1, 5, 127]]
    docs = sorted({r.choice(["d%d", "D-%d", "ä%d", "文書%d", "%d", "z~%d"]) % r.randint(0, 60) for _ in range(r.randint(2, 40))})
    run, qrels = [], []
    for query in sorted({r.choice(["%d", "q%d", "ö%d", "0%d"]) % r.randint(1, 30) for _ in range(r.randint(1, 6))}):
        if r.random() < 0.9:
            form = r.choice(forms)
            run += [f"{query} Q0 {d} 1 {form()} t" for d in r.sample(docs, r.randint(1, len(docs)))]
        if r.random() < 0.9:
            level = r.choice(levels)
            qrels += [f"{query} 0 {d} {r.choice(level)}" for d in r.sample(docs, r.randint(1, len(docs)))]
    r.shuffle(run)
    r.shuffle(qrels)
    return "\n".join(run), "\n".join(qrels)


if __name__ == "__main__":
    with open(here + "/../hard.json", "w", newline="\n") as f:
        f.write("[\n" + ",\n".join(json.dumps(case(*c), ensure_ascii=False) for c in hard()) + "\n]\n")
    cases, seed = [], 0
    while len(cases) < 100:
        c = case(str(seed), *chance(random.Random(seed)))
        cases += [c] if "values" in c else []
        seed += 1
    with gzip.GzipFile(here + "/../random.json.gz", "wb", mtime=0) as f:
        f.write(json.dumps(cases, ensure_ascii=False).encode())
