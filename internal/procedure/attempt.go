package procedure

import (
	"fmt"

	"github.com/scruple-eval/scruple/stats"
)

// An end is the panic with which a step of an answer hands its error to the function that
// was called from outside, which defers catch. No such panic leaves the package. So most of
// a procedure reads as what it computes, though nearly every call can refuse its input.
type end struct{ error }

// fail ends the answer if there is an error.
func fail(err error) {
	if err != nil {
		panic(end{err})
	}
}

// must is a value without an error.
func must[T any](x T, err error) T {
	fail(err)
	return x
}

// refuse ends the answer with an error.
func refuse(when bool, format string, args ...any) {
	if when {
		fail(fmt.Errorf(format, args...))
	}
}

// refuseRow ends the answer with the fault of a row, which a table has in a line.
func refuseRow(when bool, row int, format string, args ...any) {
	if when {
		fail(&stats.RowError{Row: row, Problem: fmt.Sprintf(format, args...)})
	}
}

// catch returns the error that ended the answer.
func catch(err *error) {
	switch x := recover().(type) {
	case nil:
	case end:
		*err = x.error
	default:
		panic(x)
	}
}
