package text

import (
	"maps"
	"strings"
	"sync"
	"text/template"
)

// Templates returns a function that writes one of the templates of a package, which have the functions
// plural and join and those of the package. A template that fails is a mistake of the package.
func Templates(templates string, own template.FuncMap) func(name string, data any) string {
	parsed := sync.OnceValue(func() *template.Template {
		all := template.FuncMap{"plural": Plural, "join": strings.Join}
		maps.Copy(all, own)
		return template.Must(template.New("").Funcs(all).Parse(templates))
	})
	return func(name string, data any) string {
		var b strings.Builder
		if err := parsed().ExecuteTemplate(&b, name, data); err != nil {
			panic("writing a text: " + err.Error())
		}
		return b.String()
	}
}
