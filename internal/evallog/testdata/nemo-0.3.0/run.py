import asyncio, json, os, sys
from nemo_evaluator.engine import eval_loop
from nemo_evaluator.environments.base import *
from nemo_evaluator.errors import *
from nemo_evaluator.solvers import base as sb
import inspect
SR=sb.SolveResult
class Env(EvalEnvironment):
    name="sums"
    def __init__(s): super().__init__(); s.dataset=[{"i":i} for i in range(20)]
    async def seed(s,idx): return SeedResult(prompt=f"What is {idx}?",expected_answer=str(idx),metadata={"category":"a"})
    async def verify(s,response,expected,sandbox=None,**m): return VerifyResult(reward=float(response==expected),extracted_answer=response,scoring_details={"method":"exact"})
class Solver:
    def __init__(s,bad): s.bad=bad; 
    async def solve(s,task):
        i=int(task.prompt.split()[-1][:-1])
        if s.bad and i<8: return SR(response="",error="503 overloaded",error_kind=sb.ErrorKind.INFRA)
        return SR(response=str(i))
fn=[v for k,v in vars(eval_loop).items() if inspect.iscoroutinefunction(v) and "max_system_retries" in inspect.signature(v).parameters][0]
for name,bad in (("small",False),("large",True)):
    b=asyncio.run(fn(Env(),Solver(bad),n_repeats=1,skip_failed=True))
    os.makedirs(f"nm/{name}",exist_ok=True)
    with open(f"nm/{name}/results.jsonl","w") as f:
        for r in b.get("_results") or b.get("results"): f.write(json.dumps(r,default=str)+"\n")
    print({k:(v if len(str(v))<300 else '...') for k,v in b.items() if k not in("_results",)})
