package method

import "github.com/scruple-eval/scruple/internal/suites/rerank/sqltable"

// WeaverWithin is weaver with other limits of its queries.
func WeaverWithin(limits sqltable.Limits) Method {
	return Method{Name: "weaver", Asks: true, Rank: ranks(weaver(limits))}
}

// Listwise is listwise with other windows.
func Listwise(size, stride int) Method {
	return Method{Name: "listwise", Asks: true, Rank: ranks(listwise(size, stride))}
}
