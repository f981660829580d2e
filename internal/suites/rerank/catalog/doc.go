// Package catalog holds the items to rank, with typed attributes, categories,
// opening hours and reviews, and the users with their friendships. It loads them
// from JSON Lines files ([Load]), including Yelp's, and reports all errors in the
// data in one pass, with file and line.
//
// Values are typed here: Python literals are parsed ([ParseLiteral]), hours
// become intervals of minutes ([Hours]), friendships become mutual ([Graph]). The value
// of an attribute or field is a JSON value: nil if it is missing, bool, float64, string,
// []any or map[string]any. Values are shared and must not be modified.
//
// The package must not know requests or methods.
package catalog
