package generate

import "strings"

// fill puts a text in the place of {name}.
func fill(template, name, text string) string {
	return strings.ReplaceAll(template, "{"+name+"}", text)
}

// enumerate writes a, b and c.
func enumerate(list []string, word string) string {
	if len(list) == 1 {
		return list[0]
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " " + word + " " + list[last]
}
