package main

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/power"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/text"
)

//go:embed texts.tmpl
var textTemplates string

// texts are what verbs with much to say print.
var texts = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"plural":  text.Plural,
		"line":    say.PlainLine,
		"short":   func(s string, most int) string { return text.Shorten(say.PlainLine(s), most) },
		"join":    strings.Join,
		"cost":    costOrUnknown,
		"dollars": dollars,
		"margin":  percentOf,
		"hours":   hours,
		"counted": counted,
		"bytes":   gigabytes,
		"paces":   paces,
		"day":     discipline.Day,
		"most":    func() int { return power.MostItems },
		"assumed": func() int { return plan.AssumedOutput },
		"version": version,
		"minute":  func(micros int64) string { return time.UnixMicro(micros).UTC().Format("2006-01-02 15:04") },
		"times":   func(a, b float64) float64 { return a * b },
		"sum": func(list ...int) (n int) {
			for _, x := range list {
				n += x
			}
			return n
		},
	}).Parse(textTemplates))
})

// tell prints one of the texts, or nothing with --json.
func (a *app) tell(name string, data any) {
	if a.json {
		return
	}
	fmt.Fprint(a.out, say.PlainLines(filled(name, data)))
}

// filled is one of the texts.
func filled(name string, data any) string {
	var b strings.Builder
	if err := texts().ExecuteTemplate(&b, name, data); err != nil {
		panic("scruple: " + err.Error()) // the templates are ours
	}
	return b.String()
}
