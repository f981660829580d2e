package text

import "strconv"

// Count formats a number with a noun: "1 item", "2 items".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
