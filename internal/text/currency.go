package text

import (
	"slices"
	"strings"
)

// signCodes are the codes that a sign or a word of money can mean. CLDR writes the pesos
// of Latin America with the dollar sign too.
var signCodes = func() map[string]string {
	all := map[string]string{}
	for codes, marks := range map[string]string{
		"USD AUD CAD HKD NZD SGD TWD ARS CLP COP MXN UYU": "$ dollar dollars",
		"USD": "us$ usd$", "AUD": "a$ au$", "CAD": "c$ ca$", "HKD": "hk$", "TWD": "nt$", "NZD": "nz$", "SGD": "s$ sg$", "BRL": "r$", "ZWL": "z$",
		"EUR": "€ euro euros", "GBP EGP LBP": "£ pound pounds", "JPY CNY": "¥", "JPY": "yen", "CNY": "yuan rmb",
		"SEK NOK DKK ISK": "kr", "CHF": "fr sfr", "CHF XAF XOF": "franc francs", "INR": "₹", "INR PKR LKR": "rs ₨ rupee rupees",
		"ARS CLP COP MXN PHP UYU": "peso pesos", "PHP": "₱", "MYR": "rm ringgit", "IDR": "rp", "PLN": "zł", "CZK": "kč", "HUF": "ft",
		"VND": "₫", "TRY": "₺", "RUB": "₽", "UAH": "₴", "KRW": "₩", "ILS": "₪", "THB": "฿", "NGN": "₦", "KZT": "₸", "GEL": "₾",
		"AZN": "₼", "AMD": "֏", "GHS": "₵", "BDT": "৳",
	} {
		for m := range strings.FieldsSeq(marks) {
			all[m] = codes
		}
	}
	return all
}()

// codesOf are the codes that a currency's sign, code or name can mean, separated by spaces.
func codesOf(mark string) string {
	mark = strings.TrimSuffix(mark, ".")
	if codes, ok := signCodes[strings.ToLower(mark)]; ok {
		return codes
	}
	return strings.ToUpper(mark)
}

// commonCodes are the codes that two lists share. An empty list is that of an amount
// without a currency, which can have any.
func commonCodes(a, b string) (codes string, ok bool) {
	if a == "" || b == "" {
		return a + b, true
	}
	var common []string
	for code := range strings.FieldsSeq(a) {
		if slices.Contains(strings.Fields(b), code) {
			common = append(common, code)
		}
	}
	return strings.Join(common, " "), common != nil
}

// isCurrency reports whether a word is a currency's code, sign or name. In
// running text codes are upper case, since many words are besides.
func isCurrency(word string, in scope) bool {
	if mark := strings.TrimSuffix(strings.ToLower(word), "."); mark != "rmb" && signCodes[mark] != "" {
		return true
	}
	code := word
	if in == whole {
		code = strings.ToUpper(word)
	}
	switch code {
	case "AED", "AMD", "ARS", "AUD", "AZN", "BDT", "BGN", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK",
		"DKK", "DZD", "EGP", "ETB", "GEL", "GHS", "EUR", "GBP", "HKD", "HUF", "IDR", "ILS", "INR", "ISK", "JPY", "KES",
		"JOD", "KRW", "KWD", "KZT", "LBP", "LKR", "MAD", "MXN", "MYR", "NGN", "NOK", "NZD", "OMR", "PEN", "PHP", "PKR", "PLN",
		"QAR", "RMB", "RON", "RSD", "RUB", "SAR", "SEK", "SGD", "THB", "TND", "TRY", "TWD", "UAH",
		"USD", "UYU", "UZS", "VND", "XAF", "XOF", "ZAR":
		return true
	case "BHD":
		return in == whole // names of Malaysian companies end in it
	}
	return false
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
