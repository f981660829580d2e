package procedure

import "slices"

// All lists the procedures in the order they are documented in.
func All() []Procedure {
	return slices.Concat(families()...)
}

// families has one line per file.
func families() [][]Procedure {
	return [][]Procedure{
		paired(),
		bootstraps(),
		robust(),
		mixed(),
		proportions(),
		categorical(),
		agreement(),
		calibrations(),
		predictionPowered(),
		sequences(),
		adjust(),
		power(),
		rankings(),
		distributions(),
	}
}
