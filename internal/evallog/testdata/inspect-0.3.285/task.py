import tiktoken
class _Words:  # the real encodings need the network
    def encode(self, s, **kw): return s.split()
    def __getattr__(self, n): raise AttributeError(n)
tiktoken.get_encoding = lambda name: _Words()
tiktoken.encoding_for_model = lambda name: _Words()
from inspect_ai import Task, task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import match, scorer, Score, accuracy, mean, Target, CORRECT, INCORRECT, stderr
from inspect_ai.model import get_model, ModelOutput
from inspect_ai.solver import generate, solver
import math

@scorer(metrics=[mean()])
def length():
    async def score(state, target):
        if state.sample_id == "q3":
            return Score(value=float("nan"), explanation="no length")
        return Score(value=len(state.output.completion.split()))
    return score

@scorer(metrics={"tone": [mean()], "brief": [mean()]})
def style():
    async def score(state, target):
        return Score(value={"tone": 0.5, "brief": 1})
    return score

@solver
def maybe_fail():
    async def solve(state, gen):
        if state.sample_id == "q5":
            raise ValueError("the tool crashed")
        return await gen(state)
    return solve

Q = [("q%d" % i, "What is %d plus %d?" % (i, i+1), str(2*i+1)) for i in range(1, 9)]

@task
def sums():
    return Task(dataset=[Sample(id=i, input=q, target=t, metadata={"topic": "even" if int(t) % 4 == 1 else "odd"}) for i, q, t in Q],
                solver=maybe_fail(), scorer=[match(), length(), style()], epochs=2, fail_on_error=False)

def outs(wrong):
    n = 0
    res = []
    for i, q, t in Q:
        if i == "q5": continue
    return res

for name, wrong in (("old", {"q1", "q2", "q4", "q6"}), ("new", {"q2"})):
    def respond(input, tools, tool_choice, config, wrong=wrong):
        text = input[-1].text if not isinstance(input, str) else input
        a = int(text.split()[2]); i = "q%d" % a
        ans = 2*a+1 + (1 if i in wrong else 0)
        out = ModelOutput.from_content("mockllm/"+name, "The answer is %d" % ans)
        from inspect_ai.model import ModelUsage
        out.usage = ModelUsage(input_tokens=12, output_tokens=4, total_tokens=16)
        return out
    model = get_model("mockllm/"+name, custom_outputs=respond, memoize=False)
    eval(sums(), model=model, log_dir="logs", display="none", max_samples=1)
    eval(sums(), model=model, log_dir="logsjson", log_format="json", display="none", max_samples=1, limit=5, epochs=1)
