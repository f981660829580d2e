// Of three calls the first has an unreadable verdict and the third fails.
let n = 0;
class Grader {
  id() { return 'grader'; }
  async callApi() {
    n++;
    if (n % 3 === 0) return { error: 'API error: 529 overloaded' };
    if (n % 3 === 1) return { output: 'no verdict' };
    return { output: JSON.stringify({ pass: true, score: 1, reason: 'ok' }) };
  }
}
module.exports = Grader;
