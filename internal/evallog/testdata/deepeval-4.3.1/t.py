from deepeval import evaluate
from deepeval.test_case import LLMTestCase
from deepeval.metrics import BaseMetric
class Exact(BaseMetric):
    def __init__(self): self.threshold=1; self.async_mode=False; self.include_reason=True; self.evaluation_model="none"; self.strict_mode=False
    @property
    def __name__(self): return "Exact"
    def measure(self, tc, *a, **k):
        self.score = float(tc.actual_output == tc.expected_output); self.reason="equal" if self.score else "not equal"; self.success=self.score>=1; return self.score
    async def a_measure(self, tc, *a, **k): return self.measure(tc)
    def is_successful(self): return self.success
class Fails(Exact):
    @property
    def __name__(self): return "Judge"
    def measure(self, tc, *a, **k):
        if tc.input.startswith("What is 3"): raise ValueError("the judge is down")
        self.score=0.5; self.reason="half"; self.success=False; return 0.5
from deepeval.evaluate.configs import AsyncConfig, ErrorConfig, CacheConfig, DisplayConfig
import sys
for name, wrong in (("old",{1,2,4}),("new",{2})):
    cases=[LLMTestCase(name="q%d"%i, input="What is %d plus %d?"%(i,i+1), actual_output=str(2*i+1+(i in wrong)), expected_output=str(2*i+1), completion_time=0.5, token_cost=0.001*i) for i in range(1,9)]
    evaluate(cases, [Exact(), Fails()], async_config=AsyncConfig(run_async=False), error_config=ErrorConfig(ignore_errors=True), display_config=DisplayConfig(print_results=False, show_indicator=False), identifier=name)
    import shutil,glob,os
    for p in glob.glob('.deepeval/*'): print(p)
    shutil.copy('.deepeval/.latest_test_run.json', name+'.json') if os.path.exists('.deepeval/.latest_test_run.json') else None
