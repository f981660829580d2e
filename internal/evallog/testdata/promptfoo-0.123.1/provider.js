// Every answer is right. The cost is stated for the prompt priced alone, and is NaN for the last
// test of the other, whose row promptfoo cannot save.
class Calc {
  id() { return 'calc'; }
  async callApi(prompt, context) {
    const { a, b } = context.vars.o;
    const r = { output: String(a + b), tokenUsage: { total: 15, prompt: 12, completion: 3 } };
    if (a === 3) r.output = { sum: a + b, of: [a, b] };
    if (prompt.startsWith('What')) r.cost = 0.01;
    else if (a === 4) r.cost = NaN;
    return r;
  }
}
module.exports = Calc;
