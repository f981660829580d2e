// Package google calls Gemini models with generateContent. Only this package knows
// the format: the endpoint is in this file, requests are in request.go, responses
// in response.go. tools/sdk tests it against the official SDK.
//
// The package must not know any other provider, nor who asks or why.
package google

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// BaseURL is Google's own endpoint.
const BaseURL = "https://generativelanguage.googleapis.com"

// versions are the API versions a base URL may end with; the first is the
// default.
var versions = []string{"v1beta", "v1alpha", "v1"}

// New returns a client for an endpoint, given with or without its version, such
// as /v1beta.
func New(e model.Endpoint) (*model.Caller, error) {
	base, err := e.Base(BaseURL)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(versions, func(v string) bool { return strings.HasSuffix(base, "/"+v) }) {
		base += "/" + versions[0]
	}
	header := http.Header{}
	if e.APIKey != "" {
		header.Set("X-Goog-Api-Key", e.APIKey)
	}
	return model.NewCaller(wire{base}, e, header), nil
}

// wire is the generateContent format below a base URL.
type wire struct{ base string }

// modelName is a model's name, or the path of one such as tunedModels/mine.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]*(/[A-Za-z0-9][A-Za-z0-9._@-]*)*$`)

// URL implements [model.Wire]. The model's name is part of the path.
func (w wire) URL(r *eval.Request) (string, error) {
	name := r.Name
	if !modelName.MatchString(name) {
		return "", fmt.Errorf("model name %q: must be a name such as gemini-2.5-flash, or a path such as tunedModels/mine", name)
	}
	if !strings.HasPrefix(name, "models/") && !strings.HasPrefix(name, "tunedModels/") {
		name = "models/" + name
	}
	return w.base + "/" + name + ":generateContent", nil
}
