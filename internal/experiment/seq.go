package experiment

import "iter"

// until yields the elements of a sequence up to its first error, which it keeps, or nothing after one.
func until[T any](err *error, seq iter.Seq2[T, error]) iter.Seq[T] {
	return func(yield func(T) bool) {
		if *err != nil {
			return
		}
		for v, failed := range seq {
			if *err = failed; failed != nil || !yield(v) {
				return
			}
		}
	}
}

// spread yields what a function makes of each element of a sequence, up to the first error of either.
func spread[A, B any](seq iter.Seq2[A, error], of func(A) ([]B, error)) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		var err error
		for a := range until(&err, seq) {
			var list []B
			if list, err = of(a); err != nil {
				break
			}
			for _, b := range list {
				if !yield(b, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(*new(B), err)
		}
	}
}

// only yields the elements of a sequence that are wanted, up to its first error.
func only[T any](seq iter.Seq2[T, error], wanted func(T) bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range seq {
			if (err != nil || wanted(v)) && (!yield(v, err) || err != nil) {
				return
			}
		}
	}
}

// failing is a sequence of an error alone.
func failing[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) { yield(*new(T), err) }
}
