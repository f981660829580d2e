package evallog

import (
	"archive/zip"
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/effort"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
)

// inspect reads logs of Inspect (UK AISI), version 2 of their format: .eval, a zip with a
// member for each sample, and .json. Read with files of inspect-ai 0.3.285.
var inspect = Format{Name: "inspect", Doc: "logs of Inspect: .eval and .json, or their folders", Read: readInspect}

// A log is what the header of a log says.
type log struct {
	Version int    `json:"version"`
	Status  string `json:"status"`
	Eval    struct {
		Task    string `json:"task"`
		Title   string `json:"task_display_name"` // what several tasks of one name have, as exports do
		Model   string `json:"model"`
		Scorers []struct {
			Name    string         `json:"name"`
			Options jsontext.Value `json:"options"`
		} `json:"scorers"`
		Roles    map[string]jsontext.Value `json:"model_roles"` // a model each, or a list
		Args     map[string]jsontext.Value `json:"task_args"`
		Packages map[string]jsontext.Value `json:"packages"`
	} `json:"eval"`

	file, arm        string
	manyTasks        bool
	answers, graders []string // models
}

type inspectSample struct {
	ID       jsontext.Value            `json:"id"` // a text or a number
	Epoch    int                       `json:"epoch"`
	Input    jsontext.Value            `json:"input"`
	Target   jsontext.Value            `json:"target"`
	Metadata map[string]jsontext.Value `json:"metadata"`
	Output   struct {
		Completion string `json:"completion"`
	} `json:"output"`
	Scores map[string]struct {
		Value    jsontext.Value `json:"value"`
		Reason   jsontext.Value `json:"reason"` // why it is abnormal
		Why      string         `json:"explanation"`
		Metadata struct {
			Reason jsontext.Value `json:"unscored_reason"` // of older logs
		} `json:"metadata"`
	} `json:"scores"`
	Invalid jsontext.Value          `json:"invalidation"`
	Usage   map[string]inspectUsage `json:"model_usage"`
	ByRole  map[string]inspectUsage `json:"role_usage"` // part of Usage; nil of old logs
	Working *float64                `json:"working_time"`
	inspectEnd
	Attachments map[string]string `json:"attachments"`
}

// An inspectEnd is how a sample came to its end.
type inspectEnd struct {
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
	Retries []jsontext.Value `json:"error_retries"`
	Limit   struct {
		Type string `json:"type"`
	} `json:"limit"` // that it hit
}

type inspectUsage struct {
	Input  float64  `json:"input_tokens"`
	Output float64  `json:"output_tokens"`
	Total  float64  `json:"total_tokens"`
	Cost   *float64 `json:"total_cost"`
}

// mostSample is the most bytes of one sample.
const mostSample = 64 << 20

// inspectLogs are the files, with the .eval and .json files below folders in their place, of which
// some may be no logs.
func inspectLogs(files []string) (logs []string, below map[string]bool, err error) {
	below = map[string]bool{}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || !info.IsDir() {
			logs = append(logs, file) // what is wrong with it is said where it is read
			continue
		}
		before := len(logs)
		err = fs.WalkDir(os.DirFS(file), ".", func(name string, e fs.DirEntry, err error) error {
			if kind := path.Ext(name); err == nil && !e.IsDir() && (kind == ".eval" || kind == ".json") {
				log := filepath.Join(file, filepath.FromSlash(name))
				logs, below[log] = append(logs, log), true
			}
			return err
		})
		if err != nil {
			return nil, nil, err
		}
		if len(logs) == before {
			return nil, nil, fmt.Errorf("%s: the folder has no logs, .eval or .json", file)
		}
	}
	return logs, below, nil
}

func readInspect(files []string, to *Import) error {
	files, below, err := inspectLogs(files)
	if err != nil {
		return err
	}
	var logs []*log
	tasks := map[string]bool{}
	for _, file := range files {
		l := &log{file: file}
		err := l.each(nil)
		if l.Version == 0 && below[file] && strings.HasSuffix(file, ".json") {
			to.Note("%s: left out, since it is no log", file)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if l.Version != 2 {
			return fmt.Errorf("%s: version %d of the log format: want version 2", file, l.Version)
		}
		if l.Eval.Model == "" {
			return fmt.Errorf("%s: the log names no model", file)
		}
		if l.Eval.Title != "" && strings.HasPrefix(l.Eval.Task, l.Eval.Title+"/") { // a task and an arm, as Scruple exports them
			l.Eval.Task = l.Eval.Title
		}
		l.answers = []string{l.Eval.Model}
		for role, value := range l.Eval.Roles {
			var models []struct {
				Model string `json:"model"`
			}
			_ = jsonv2.Unmarshal([]byte("["+strings.Trim(string(value), "[]")+"]"), &models, lenient)
			list := &l.answers
			if role == grader {
				list = &l.graders
			}
			for _, m := range models {
				*list = append(*list, m.Model)
			}
		}
		name := l.Eval.Model
		if l.Eval.Packages["scruple"] != nil {
			name = cmp.Or(contentText(l.Eval.Args["arm"], asIs), name)
		}
		l.arm = to.arm(name, l.Eval.Task, file)
		tasks[l.Eval.Task] = true
		if logs = append(logs, l); l.Status != "success" {
			to.Note("%s: the status of the log is %q: samples that it does not have are missing here too", file, l.Status)
		}
	}
	for _, l := range logs {
		l.manyTasks = len(tasks) > 1
		invalid, scored := 0, 0
		err := l.each(func(s *inspectSample) error {
			if s.Invalid.Kind() == '{' {
				invalid++
			}
			if s.Error != nil && len(s.Scores) > 0 {
				scored++
			}
			return to.Add(l.sample(s, to))
		})
		if err != nil {
			return fmt.Errorf("%s: %w", l.file, err)
		}
		if scored > 0 {
			to.Note("%s: %s scores, which the log counts, and which are left out", l.file, text.Plural(scored, "failed sample has", "failed samples have"))
		}
		if invalid > 0 {
			to.Note("%s: %s as invalid, and %s as the others", l.file, text.Plural(invalid, "sample is marked", "samples are marked"), map[bool]string{true: "counts", false: "count"}[invalid == 1])
		}
	}
	return nil
}

// each visits the samples of a log. Without visit it reads the header.
func (l *log) each(visit func(*inspectSample) error) error {
	f, err := os.Open(l.file)
	if err != nil {
		return err
	}
	defer f.Close()
	start, err := bufio.NewReader(f).Peek(2)
	if err != nil || string(start) != "PK" {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		return l.eachOfJSON(f, visit)
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	z, err := zip.NewReader(f, info.Size())
	if err != nil {
		return err
	}
	z.RegisterDecompressor(zstd.ZipMethodWinZip, zstd.ZipDecompressor(zstd.WithDecoderMaxMemory(4*mostSample)))
	if visit == nil {
		i := slices.IndexFunc(z.File, func(m *zip.File) bool { return m.Name == "header.json" })
		if i < 0 { // a log that is not finished
			i = slices.IndexFunc(z.File, func(m *zip.File) bool { return m.Name == "_journal/start.json" })
			l.Status = "started"
		}
		if i < 0 {
			return errors.New("no log of Inspect: the zip has neither header.json nor _journal/start.json")
		}
		return member(z.File[i], l)
	}
	for _, m := range z.File {
		if !strings.HasPrefix(m.Name, "samples/") || !strings.HasSuffix(m.Name, ".json") {
			continue
		}
		if inspectChunk.MatchString(m.Name) && !inspectWhole.MatchString(m.Name) {
			return fmt.Errorf("%s: the samples of the log are chunked, which is not read: give the log that it was converted from", m.Name)
		}
		var s inspectSample
		if err := member(m, &s); err != nil {
			return err
		}
		if err := visit(&s); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}

// inspectChunk is a part of a sample in the log format that Inspect calls chunked, inspectWhole a
// sample, of which the id may have any sign.
var (
	inspectChunk = regexp.MustCompile(`_epoch_[0-9]+/`)
	inspectWhole = regexp.MustCompile(`_epoch_[0-9]+\.json$`)
)

// member decodes a member of a zip.
func member(m *zip.File, into any) error {
	r, err := m.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	defer r.Close()
	if err := decode(r, mostSample, into); err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	return nil
}

// decode reads a JSON value of at most so many bytes.
func decode(r io.Reader, most int, into any) error {
	f := finite(r)
	f.left = most
	return jsonv2.UnmarshalRead(f, into, lenient)
}

// decodeFile reads a file that is one JSON value.
func decodeFile(file string, most int, into any) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := decode(f, most, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// eachOfJSON is each for a log that is one JSON object.
func (l *log) eachOfJSON(r io.Reader, visit func(*inspectSample) error) error {
	f := finite(r)
	d := jsontext.NewDecoder(f, lenient)
	header := map[string]any{"version": &l.Version, "status": &l.Status, "eval": &l.Eval}
	return members(d, func(key string) error {
		switch {
		case visit == nil && header[key] != nil:
			return jsonv2.UnmarshalDecode(d, header[key], lenient)
		case visit != nil && key == "samples" && d.PeekKind() == '[':
			return elements(d, f, visit)
		}
		return d.SkipValue()
	})
}

// elements visits the elements of a list, none of which may be too large.
func elements[T any](d *jsontext.Decoder, f *finiteReader, visit func(*T) error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	defer func() { f.left = math.MaxInt }()
	for n := 1; d.PeekKind() != ']'; n++ {
		f.left = mostSample
		var v T
		if err := jsonv2.UnmarshalDecode(d, &v, lenient); err != nil {
			return fmt.Errorf("element %d: %w", n, err)
		}
		if err := visit(&v); err != nil {
			return fmt.Errorf("element %d: %w", n, err)
		}
	}
	_, err := d.ReadToken()
	return err
}

func (l *log) sample(s *inspectSample, to *Import) Sample {
	id := contentText(s.ID, asIs)
	attached := func(text string) string {
		const mark = "attachment://"
		if hash, ok := strings.CutPrefix(text, mark); ok {
			return cmp.Or(s.Attachments[hash], text)
		}
		return text
	}
	out := Sample{Item: id, Arm: l.arm, Replicate: s.Epoch, Input: attached(contentText(s.Input, attached)), Expected: attached(contentText(s.Target, attached)),
		Answer: attached(s.Output.Completion), Used: map[string]float64{},
		Simulated: slices.ContainsFunc(slices.Concat(l.answers, l.graders), simulatedModel) || contentText(l.Eval.Args["simulated"], asIs) == "true"}
	if l.manyTasks && id != "" {
		out.Item = l.Eval.Task + "/" + id
		out.Strata = []eval.Level{{Name: "task", Value: l.Eval.Task}}
	}
	if s.Limit.Type != "" { // before metadata, of which the same names are left out
		out.Facts = append(out.Facts, eval.Level{Name: "limit", Value: s.Limit.Type})
	}
	if n := len(s.Retries); n > 0 {
		out.Facts = append(out.Facts, eval.Level{Name: "error_retries", Value: strconv.Itoa(n)})
	}
	out.Facts = append(out.Facts, to.scalars(s.Metadata)...)
	if s.Error != nil {
		out.Error = cmp.Or(firstLine(s.Error.Message), "an error without a message")
	}
	names := sortedKeys(s.Scores)
	for _, scorer := range slices.Backward(l.Eval.Scorers) { // in the order of the log, which may have a name twice
		if at := slices.Index(names, scorer.Name); at >= 0 {
			names = slices.Insert(slices.Delete(names, at, at+1), 0, scorer.Name)
		}
	}
	for _, name := range names {
		score := s.Scores[name]
		own, ok := strings.CutPrefix(score.Why, "unscored: ") // as Scruple exports it
		if !ok {
			own = ""
		}
		why := cmp.Or(contentText(score.Reason, asIs), contentText(score.Metadata.Reason, asIs), own)
		for _, part := range inspectScores(name, score.Value) {
			if part.Unscored == noNumber {
				part.Unscored = cmp.Or(firstLine(why), noNumber)
			}
			out.Scores = append(out.Scores, part)
		}
	}
	l.took(s, out.Used, to)
	out.use(effort.Latency, s.Working)
	return out
}

const grader = "grader" // the role of a model that scores

// took adds the tokens and the cost of the answer, without those of scorers.
func (l *log) took(s *inspectSample, used map[string]float64, to *Import) {
	priced := true
	add := func(u inspectUsage, sign float64) {
		used[effort.TokensIn] += sign * max(u.Total-u.Output, u.Input) // the total has those of a cache too
		used[effort.TokensOut] += sign * u.Output
		if u.Cost == nil {
			priced = false // the sum of the others is not the cost
		} else {
			used[effort.Cost] += sign * *u.Cost
		}
	}
	for _, model := range sortedKeys(s.Usage) {
		answers, grades, scores := slices.Contains(l.answers, model), slices.Contains(l.graders, model), l.scores(model)
		graded, ok := s.ByRole[grader]
		switch {
		case !answers && (grades || scores):
			to.Note("%s: tokens and cost of %s are left out: it only grades", l.file, model)
			continue
		case !answers:
			to.Note("%s: tokens and cost are left out where %s was asked: the log does not tell whether it answers or grades", l.file, model)
			clear(used)
			return
		case scores || grades && (s.ByRole == nil || ok && len(l.graders) > 1):
			to.Note("%s: tokens and cost are left out where %s answers and grades: the log does not tell them apart", l.file, model)
			clear(used)
			return
		}
		add(s.Usage[model], 1)
		if grades && ok {
			add(graded, -1)
		}
	}
	if !priced {
		delete(used, effort.Cost)
	}
}

// scores reports whether a scorer asks a model in no role: one that its options name, or for
// want of it, and of a grader, the model of the log.
func (l *log) scores(model string) bool {
	for _, s := range l.Eval.Scorers {
		var options struct {
			Model any `json:"model"`
		}
		_ = jsonv2.Unmarshal(s.Options, &options, lenient)
		own := model == l.Eval.Model && options.Model == nil && len(l.graders) == 0 && strings.HasPrefix(s.Name, "model_graded_")
		if own || strings.Contains(string(s.Options), strconv.Quote(model)) {
			return true
		}
	}
	return false
}

// inspectWords are those of Inspect for right, partly right, wrong and no answer; yes and no in any case.
var inspectWords = map[string]float64{"C": 1, "P": 0.5, "I": 0, "N": 0, "yes": 1, "no": 0}

// inspectScores reads the value of a score: a letter, a number, a boolean, or an object of them.
func inspectScores(name string, value jsontext.Value) []Score {
	if value.Kind() == '{' {
		var parts map[string]jsontext.Value
		_ = jsonv2.Unmarshal(value, &parts, lenient)
		var list []Score
		for _, key := range sortedKeys(parts) {
			list = append(list, inspectScores(name+"/"+key, parts[key])...)
		}
		return list
	}
	if value.Kind() == '"' {
		word := contentText(value, asIs)
		for _, word := range []string{word, strings.ToLower(word)} {
			if x, ok := inspectWords[word]; ok {
				return []Score{{Metric: name, Value: x}}
			}
		}
	}
	return []Score{scoreOf(name, value)}
}

// noNumber is the reason for no score where the file has none.
const noNumber = "the score is not a number"

// scoreOf reads a score that is a number, a boolean, or a text of one.
func scoreOf(name string, value jsontext.Value) Score {
	s := strings.Trim(strings.TrimSpace(string(value)), `"`)
	switch strings.ToLower(s) {
	case "true":
		return Score{Metric: name, Value: 1}
	case "false":
		return Score{Metric: name}
	case "", "null", "nan":
		return Score{Metric: name, Value: math.NaN(), Unscored: noNumber}
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(x, 0) {
		return Score{Metric: name, Value: math.NaN(), Unscored: "the score is no number: " + firstLine(s)}
	}
	return Score{Metric: name, Value: x}
}

// lenient are the options by which files of other tools are read.
var lenient = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// finite replaces the words NaN, Infinity and -Infinity, which Python writes and JSON does not
// have, with null. It decodes what Windows writes, UTF-16 or a byte order mark.
func finite(r io.Reader) *finiteReader {
	return &finiteReader{r: bufio.NewReaderSize(dataset.Decoded(r), 1<<16), left: math.MaxInt}
}

type finiteReader struct {
	r        *bufio.Reader
	left     int // bytes that may be read before an error
	rest     []byte
	inString bool
	escaped  bool
}

func (f *finiteReader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(f.rest) > 0 {
			k := copy(p[n:], f.rest)
			n, f.rest = n+k, f.rest[k:]
			continue
		}
		if f.left--; f.left < 0 {
			if _, err := f.r.Peek(1); err == io.EOF {
				return n, io.EOF
			}
			return n, errTooLarge
		}
		c, err := f.r.ReadByte()
		if err != nil {
			if n > 0 {
				return n, nil
			}
			return 0, err
		}
		switch {
		case f.inString:
			f.inString = f.escaped || c != '"'
			f.escaped = c == '\\' && !f.escaped
		case c == '"':
			f.inString = true
		case c == 'N' && f.skip("aN"), c == 'I' && f.skip("nfinity"), c == '-' && f.skip("Infinity"):
			f.rest = []byte("null")
			continue
		}
		p[n] = c
		n++
	}
	return n, nil
}

var errTooLarge = errors.New("a sample, or a file beside the samples, is larger than scruple reads: leave its events or its attachments out")

// skip skips a word if it is next.
func (f *finiteReader) skip(word string) bool {
	next, _ := f.r.Peek(len(word))
	if string(next) != word {
		return false
	}
	_, _ = f.r.Discard(len(word))
	return true
}

// contentText is the text of a content: a text, a list of texts, or messages, with their
// roles if there are several. resolve gives the text that stands for another.
func contentText(value jsontext.Value, resolve func(string) string) string {
	switch value.Kind() {
	case 0, 'n':
		return ""
	case '"':
		var s string
		_ = jsonv2.Unmarshal(value, &s, lenient)
		return resolve(s)
	case '[':
		var list []jsontext.Value
		_ = jsonv2.Unmarshal(value, &list, lenient)
		var parts []string
		for _, v := range list {
			var m struct {
				Role    string         `json:"role"`
				Content jsontext.Value `json:"content"`
				Text    string         `json:"text"`
			}
			if v.Kind() != '{' || jsonv2.Unmarshal(v, &m, lenient) != nil || m.Text == "" && len(m.Content) == 0 {
				parts = append(parts, contentText(v, resolve))
				continue
			}
			text := cmp.Or(resolve(m.Text), contentText(m.Content, resolve))
			if m.Role != "" && len(list) > 1 {
				text = m.Role + ": " + text
			}
			parts = append(parts, text)
		}
		return strings.Join(parts, "\n\n")
	}
	// The indentation of a file is not part of a value.
	compact := slices.Clone(value)
	_ = compact.Compact(lenient)
	return string(compact)
}

func asIs(s string) string { return s }

// scalars are the members of metadata that are short texts, numbers or booleans, as the file has
// them. The import names the others.
func (to *Import) scalars(metadata map[string]jsontext.Value) (list []eval.Level) {
	for _, name := range sortedKeys(metadata) {
		switch v := metadata[name]; {
		case v.Kind() == '[' || v.Kind() == '{' || len(contentText(v, asIs)) > longestFact:
			to.dropped[name] = true
		case contentText(v, asIs) != "":
			list = append(list, eval.Level{Name: name, Value: contentText(v, asIs)})
		}
	}
	return list
}

const longestFact = 100 // bytes
