package main

import (
	_ "embed"
	"fmt"
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

// filled is one of the texts that verbs with much to say print.
var filled = text.Templates(textTemplates, template.FuncMap{
	"line":    say.PlainLine,
	"short":   func(s string, most int) string { return text.Shorten(say.PlainLine(s), most) },
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
})

// tell prints one of the texts, or nothing with --json.
func (a *app) tell(name string, data any) {
	if a.json {
		return
	}
	fmt.Fprint(a.out, say.PlainLines(filled(name, data)))
}
