package text

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// signCodes are the codes that a sign or a word of money can mean.
var signCodes = func() map[string]string {
	all := map[string]string{}
	for _, line := range wordLines(wordsFile, "currency") {
		for _, mark := range line[1:] {
			all[mark] = strings.ReplaceAll(line[0], "/", " ")
		}
	}
	return all
}()

// currencyCodes are the codes that are read as such.
var currencyCodes = wordLines(wordsFile, "currencies")[0]

// codesOf are the codes that a currency's sign, code or name can mean, separated by spaces.
func codesOf(mark string) string {
	mark = strings.ToUpper(strings.TrimSuffix(norm.NFKC.String(mark), ".")) // a small or wide sign is a sign
	if mark == "RMB" {
		return "CNY"
	}
	return cmp.Or(signCodes[strings.ToLower(mark)], mark)
}

// commonCodes are the codes that two lists share. An empty list is that of an amount
// without a currency, which can have any.
func commonCodes(a, b string) (codes string, ok bool) {
	if a == "" || b == "" {
		return a + b, true
	}
	common := slices.DeleteFunc(strings.Fields(a), func(code string) bool { return !slices.Contains(strings.Fields(b), code) })
	return strings.Join(common, " "), len(common) > 0
}

// isCurrency reports whether a word is a currency's code, sign or name. In
// running text codes are upper case, since many words are besides.
func isCurrency(word string, in scope) bool {
	if signCodes[strings.TrimSuffix(strings.ToLower(word), ".")] != "" {
		return true
	}
	if in == whole {
		word = strings.ToUpper(word)
	}
	// In running text, names of Malaysian companies end in BHD.
	return slices.Contains(currencyCodes, word) && (in == whole || word != "BHD")
}

// groupsByDots reports whether a currency is used where thousands are grouped
// by full stops and no amount has three decimals.
func groupsByDots(mark string) bool {
	switch strings.ToUpper(strings.TrimSuffix(mark, ".")) {
	case "€", "EUR", "EURO", "EUROS", "R$", "BRL", "RP", "IDR", "₫", "VND", "₺", "TRY",
		"DKK", "NOK", "ISK", "KR", "CLP", "COP", "ARS", "UYU", "RON", "RSD":
		return true
	}
	return false
}

// unitExponent is the power of ten a unit word stands for, 0 for any other
// word. Single letters are units only right after an amount of money.
func unitExponent(word string, amount bool) int {
	switch strings.ToLower(word) {
	case "thousand":
		return 3
	case "million", "millions", "mn", "mio", "mln":
		return 6
	case "billion", "billions", "bn", "mrd":
		return 9
	case "trillion", "trillions":
		return 12
	}
	if !amount {
		return 0
	}
	switch word {
	case "k", "K":
		return 3
	case "m", "M", "mm", "MM":
		return 6
	case "b", "B":
		return 9
	}
	return 0
}
