package store

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ScanScores reads the stored scores of a trial and calls f for each fraction. It is
// twenty times as fast as decoding and allocates only for names with escapes. Rows of
// estimators and entries without a score are called with NaN and 0.
func ScanScores(data string, f func(unit, metric string, num, den float64)) error {
	s := scanner{rest: data}
	s.eachKey(func(unit string) {
		s.eachKey(func(metric string) {
			num, den := math.NaN(), 0.0
			switch {
			case s.next('"'):
				s.text()
			case s.next('['):
				if s.next('[') { // a row
					end := strings.Index(s.rest, "]]")
					if end < 0 {
						s.fail()
						return
					}
					s.rest = s.rest[end+2:]
					break
				}
				num = s.number()
				s.want(',')
				den = s.number()
				s.want(']')
			default:
				num, den = s.number(), 1
			}
			if !s.failed {
				f(unit, metric, num, den)
			}
		})
	})
	if s.failed || s.rest != "" {
		return fmt.Errorf("reading stored scores: unexpected form at byte %d", len(data)-len(s.rest))
	}
	return nil
}

type scanner struct {
	rest   string
	failed bool
}

func (s *scanner) fail() { s.failed = true }

func (s *scanner) next(c byte) bool {
	if s.failed || s.rest == "" || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

func (s *scanner) want(c byte) {
	if !s.next(c) {
		s.fail()
	}
}

// eachKey reads an object and calls f at the value of each key.
func (s *scanner) eachKey(f func(key string)) {
	s.want('{')
	if s.next('}') {
		return
	}
	for !s.failed {
		s.want('"')
		key := s.text()
		s.want(':')
		if s.failed {
			return
		}
		f(key)
		if s.next('}') {
			return
		}
		s.want(',')
	}
}

// text reads the rest of a string after its quotation mark.
func (s *scanner) text() string {
	for i := 0; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '"':
			plain := s.rest[:i]
			s.rest = s.rest[i+1:]
			return plain
		case '\\':
			return s.escaped()
		}
	}
	s.fail()
	return ""
}

func (s *scanner) escaped() string {
	for i := 0; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '\\':
			i++
		case '"':
			b, err := jsontext.AppendUnquote(nil, `"`+s.rest[:i+1])
			if err != nil {
				s.fail()
			}
			s.rest = s.rest[i+1:]
			return string(b)
		}
	}
	s.fail()
	return ""
}

func (s *scanner) number() float64 {
	n := 0
	for n < len(s.rest) && strings.IndexByte("+-.0123456789eE", s.rest[n]) >= 0 {
		n++
	}
	x, err := strconv.ParseFloat(s.rest[:n], 64)
	if err != nil {
		s.fail()
	}
	s.rest = s.rest[n:]
	return x
}
