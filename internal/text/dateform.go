package text

// The written forms of a date. Each is a method that reads the tokens from i on
// and gives the reading and how many tokens it took: none if no such date
// stands there.

// day reads a date to the day in any form.
func (d *dateText) day(i int) (r DateReading, n int) {
	if r, n = d.yearFirst(i); n > 0 {
		return r, n
	}
	if r, n = d.numeric(i); n > 0 {
		return r, n
	}
	if r, n = d.compact(i); n > 0 {
		return r, n
	}
	if r, n = d.dayMonthYear(i); n > 0 {
		return r, n
	}
	return d.monthDayYear(i)
}

// yearFirst: 2024-03-15, 2024/3/15, 2024.03.15, 2024-Mar-15.
func (d *dateText) yearFirst(i int) (DateReading, int) {
	y, m, day := d.at(i), d.at(i+2), d.at(i+4)
	if y.digits() != 4 || !d.separated(i) || !isShort(day) {
		return DateReading{}, 0
	}
	month := m.month
	if isShort(m) {
		month = m.number
	}
	r, ok := exactly(y.number, month, day.number)
	return r, taken(ok, 5)
}

// numeric: 15/03/2024, 3-14-18, 15.03.2024. Full stops are written where the day comes
// first.
func (d *dateText) numeric(i int) (DateReading, int) {
	a, b := d.at(i), d.at(i+2)
	year, ok := d.year(i + 4)
	if !ok || !isShort(a) || !isShort(b) || !d.separated(i) {
		return DateReading{}, 0
	}
	if r, ok := exactly(year, b.number, a.number); ok && d.at(i+1).is('.') {
		return r, 5
	}
	r, ok := eitherOrder(a.number, b.number, year)
	return r, taken(ok, 5)
}

// compact: 20240315, and 25032018 as some tills print it.
func (d *dateText) compact(i int) (DateReading, int) {
	t := d.at(i)
	if t.digits() != 8 {
		return DateReading{}, 0
	}
	// Years of these two centuries, which leaves no number with both readings.
	if y := t.number / 1e4; 1900 <= y && y <= 2099 {
		if r, ok := exactly(y, t.number/100%100, t.number%100); ok {
			return r, 1
		}
	}
	if y := t.number % 1e4; 1900 <= y && y <= 2099 {
		r, ok := eitherOrder(t.number/1e6, t.number/1e4%100, y)
		return r, taken(ok, 1)
	}
	return DateReading{}, 0
}

// dayMonthYear: 15 March 2024, 15-Mar-24, 02/JAN/2017, 31 January, 1994,
// 17t h day of October, 2007, (1st) day of January, 1996, 1st of March, 2003.
func (d *dateText) dayMonthYear(i int) (DateReading, int) {
	from := i
	if d.at(i).is('(') {
		i++
	}
	day := d.at(i)
	if !isShort(day) {
		return DateReading{}, 0
	}
	i = d.ordinal(i + 1)
	if d.at(from).is('(') {
		if !d.at(i).is(')') {
			return DateReading{}, 0
		}
		i++
	}
	if d.at(i).says("day") {
		i++
	}
	if d.at(i).says("of") {
		i++
	}
	if !d.at(i).is(',') {
		i = d.between(i)
	}
	month := d.at(i).month
	i = d.between(i + 1)
	year, ok := d.year(i)
	// In "5 March 15, 2024" the 15 is not a year, nor is it in "May 5 March 15".
	if month == 0 || !ok || d.at(i).digits() == 2 && (d.yearFollows(i+1) || d.at(from-1).month > 0) {
		return DateReading{}, 0
	}
	r, ok := exactly(year, month, day.number)
	return r, taken(ok, i+1-from)
}

// monthDayYear: March 15, 2024, Mar. 15, 2024, June 1st, 2020, August 3 , 2014,
// Mar-15-24.
func (d *dateText) monthDayYear(i int) (DateReading, int) {
	from := i
	month := d.at(i).month
	if month == 0 {
		return DateReading{}, 0
	}
	dashed := d.at(i+1).is('-') || d.at(i+1).is('/')
	i = d.between(i + 1)
	if d.at(i).says("the") {
		i++
	}
	day := d.at(i)
	if !isShort(day) {
		return DateReading{}, 0
	}
	i = d.between(d.ordinal(i + 1))
	year, ok := d.year(i)
	// "May 5, 20 people came" has no year.
	if !ok || d.at(i).digits() == 2 && !dashed && !d.at(i-1).is('\'') && !d.at(i-1).is('’') {
		return DateReading{}, 0
	}
	r, ok := exactly(year, month, day.number)
	return r, taken(ok, i+1-from)
}

// month reads a date to the month or the year: May 2019, May, 2019, 2019-05,
// 05/2019, 2019.
func (d *dateText) month(i int) (dateReading, int) {
	year, month, n := 0, 0, 0
	switch t := d.at(i); {
	case t.month > 0:
		k := d.between(i + 1)
		if d.at(k).says("of") {
			k++
		}
		year, month, n = d.at(k).number, t.month, k+1-i
		if d.at(k).digits() != 4 {
			return dateReading{}, 0
		}
	case t.digits() == 4 && d.at(i+1).is('-') && d.at(i+2).digits() == 2:
		year, month, n = t.number, d.at(i+2).number, 3
	case isShort(t) && d.at(i+1).is('/') && d.at(i+2).digits() == 4:
		year, month, n = d.at(i+2).number, t.number, 3
	case t.digits() == 4:
		year, n = t.number, 1
	}
	r, ok := exactly(year, max(month, 1), 1)
	switch {
	case !ok:
		return dateReading{}, 0
	case month == 0:
		return dateReading{r, toYear}, n
	}
	return dateReading{r, toMonth}, n
}

// separated reports that the tokens i, i+2 and i+4 are joined by the same
// mark. Full stops and dashes stand close; round slashes there may be space.
func (d *dateText) separated(i int) bool {
	sep := d.at(i + 1)
	if !d.at(i + 3).is(sep.mark) {
		return false
	}
	switch sep.mark {
	case '/':
		return true
	case '-', '.', '‐', '‑', '–':
		return d.touching(i) && d.touching(i+1) && d.touching(i+2) && d.touching(i+3)
	}
	return false
}

// between skips the marks that may stand between the parts of a date.
func (d *dateText) between(i int) int {
	for {
		switch t := d.at(i); {
		case t.is(','), t.is('.'), t.is('-'), t.is('/'), t.is('\''), t.is('’'), t.is('–'), t.is('‐'), t.is('‑'):
			i++
		default:
			return i
		}
	}
}

// ordinal skips st, nd, rd and th, also in two pieces.
func (d *dateText) ordinal(i int) int {
	switch first, second := d.at(i), d.at(i+1); {
	case first.says("st", "nd", "rd", "th"):
		return i + 1
	case first.says("s") && second.says("t"), first.says("n", "r") && second.says("d"), first.says("t") && second.says("h"):
		return i + 2
	}
	return i
}

// year reads a year of four digits or of two.
func (d *dateText) year(i int) (int, bool) {
	t := d.at(i)
	switch t.digits() {
	case 4:
		return t.number, true
	case 2:
		return pivot(t.number), true
	}
	return 0, false
}

// yearFollows reports that an ordinal's ending, a comma or both stand at i,
// and then a year of four digits.
func (d *dateText) yearFollows(i int) bool {
	return d.at(d.between(d.ordinal(i))).digits() == 4
}

// isShort reports a number of one or two digits.
func isShort(t dateToken) bool { return t.digits() == 1 || t.digits() == 2 }

// taken is the number of tokens that a form took.
func taken(ok bool, n int) int {
	if !ok {
		return 0
	}
	return n
}
