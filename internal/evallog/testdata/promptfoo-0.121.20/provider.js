class Calc {
  id() { return 'calc'; }
  async callApi(prompt, context) {
    const a = Number(context.vars.a), b = Number(context.vars.b);
    if (a === 5 && prompt.startsWith('Think')) return { error: 'the service is down' };
    let sum = a + b;
    if (!prompt.startsWith('Think') && a % 2 === 0) sum += 1;
    if (prompt.startsWith('Think') && a === 8) sum += 1;
    return { output: String(sum), tokenUsage: { total: 15, prompt: 12, completion: 3 }, cost: 0.0001 * a };
  }
}
module.exports = Calc;
