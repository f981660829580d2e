import json,gzip,random,sys
from nervaluate.evaluator import Evaluator
from seqeval.metrics.sequence_labeling import precision_recall_fscore_support as prf
from seqeval.metrics.sequence_labeling import get_entities
D=[json.loads(l) for l in gzip.open('/work/shared/data/spans/wnut17_gold_and_systems.jsonl.gz','rt')]
out={}
def ner(gold,pred,tags):
    e=Evaluator(gold,pred,tags=tags,loader='dict').evaluate()
    f=lambda r:dict(correct=r.correct,incorrect=r.incorrect,partial=r.partial,missed=r.missed,spurious=r.spurious,precision=r.precision,recall=r.recall,f1=r.f1)
    return dict(overall={k:f(v) for k,v in e['overall'].items()},by_label={t:{k:f(v) for k,v in d.items()} for t,d in e['entities'].items()})
key=lambda s:(s['start'],s['end'],s['label'])
conv=lambda ss:[dict(label=s['label'],start=s['start'],end=s['end']-1) for s in sorted(ss,key=key)]
# wnut by tokens and by characters
for sysn in D[0]['systems']:
    labels=sorted({s['label'] for r in D for s in r['gold']+r['systems'][sysn]['spans']})
    g=[conv(r['gold']) for r in D]; p=[conv(r['systems'][sysn]['spans']) for r in D]
    T=[r['gold_tags'] for r in D]; P=[r['systems'][sysn]['tags'] for r in D]
    mi=prf(T,P,average='micro'); ma=prf(T,P,average='macro')
    out[sysn]=dict(nervaluate=ner(g,p,labels),seqeval=dict(micro=mi[:3],macro=ma[:3]))
# random overlapping spans
random.seed(7)
cases=[]
for c in range(300):
    L=['a','b','c']
    def some():
        r=[]
        for _ in range(random.randint(0,7)):
            s=random.randint(0,40); r.append(dict(label=random.choice(L),start=s,end=s+random.randint(1,9)))
        r.append(dict(label='a',start=50,end=450) if random.random()<.3 else dict(label='b',start=448,end=452))
        u=sorted({key(x) for x in r})
        return [dict(start=a,end=b,label=l) for a,b,l in u]
    g,p=some(),some()
    cases.append(dict(gold=g,pred=p,nervaluate=ner([conv(g)],[conv(p)],L)))
# tag sequences
tagcases=[]
for c in range(400):
    n=random.randint(1,12)
    pre=random.choice(['BIO','IO','BIOES'])
    def seq(): return [ 'O' if (q:=random.choice(pre))=='O' else q+'-'+random.choice(['x','y-z']) for _ in range(n)]
    t=seq()
    ents=[[s,e+1,l] for l,s,e in get_entities(t)]
    tagcases.append(dict(tags=t,chunks=ents))
json.dump(dict(wnut17=out),open(sys.argv[1]+'/wnut17_nervaluate_seqeval.json','w'),indent=0)
json.dump(dict(nervaluate=cases),open(sys.argv[1]+'/nervaluate_random.json','w'))
json.dump(tagcases,open(sys.argv[1]+'/seqeval_chunks.json','w'))
