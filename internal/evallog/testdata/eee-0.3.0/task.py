import tiktoken
class _Words:  # the real encodings need the network
    def encode(self, s, **kw): return s.split()
    def __getattr__(self, n): raise AttributeError(n)
tiktoken.get_encoding = lambda name: _Words()
tiktoken.encoding_for_model = lambda name: _Words()
from inspect_ai import Task, task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import match, includes
from inspect_ai.model import get_model, ModelOutput, ModelUsage
from inspect_ai.solver import generate, solver

# Every answer includes the target and does not end with it; q2 fails. old and new differ only
# in the order of the scorers.
@solver
def maybe_fail():
    async def solve(state, gen):
        if state.sample_id == "q2":
            raise ValueError("the tool crashed")
        return await gen(state)
    return solve

def respond(input, tools, tool_choice, config):
    out = ModelOutput.from_content("openai/m", "The answer is %s indeed" % input[-1].text.split()[-1])
    out.usage = ModelUsage(input_tokens=2, output_tokens=5, total_tokens=7)
    return out

for name, scorers in (("old", [match(), includes()]), ("new", [includes(), match()])):
    @task
    def sums():
        return Task(dataset=[Sample(id="q%d" % i, input="Say %d" % i, target=str(i)) for i in range(1, 5)],
                    solver=maybe_fail(), scorer=scorers, fail_on_error=False)
    eval(sums(), model=get_model("mockllm/" + name, custom_outputs=respond, memoize=False), log_dir="logs/" + name, log_format="json", display="none", max_samples=1)
