package text

import "strconv"

// Plural formats a number with a noun: "1 item", "2 items".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
