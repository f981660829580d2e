# Writes the comment of the study on the pull request: one, which is replaced.
set -euo pipefail
MARK=$(head -n 1 "$COMMENT")
export MARK
comments="repos/$REPOSITORY/issues/$PULL_REQUEST/comments"
id=$(gh api "$comments" --paginate --jq '.[] | select(.user.login == "github-actions[bot]" and (.body | startswith(env.MARK))) | .id' | head -n 1) || {
  echo "::warning title=scruple::the comments cannot be read: a pull request of a fork has no right to them"
  exit 0
}
if [ -n "$id" ]; then
  gh api --silent -X PATCH "repos/$REPOSITORY/issues/comments/$id" -F "body=@$COMMENT"
else
  gh api --silent "$comments" -F "body=@$COMMENT"
fi || echo "::warning title=scruple::the comment cannot be written: give the job the permission pull-requests: write"
