// Package catalog holds what is ranked: items with typed attributes, categories,
// opening hours and reviews, the people who wrote those, and who is whose
// friend. It reads them from JSON Lines files ([Load]), Yelp's included, and
// says everything that is wrong with them in one pass, with file and line.
//
// Values are typed once, here: an attribute that is the text of a Python
// literal becomes what it stands for ([ParseLiteral]), hours become intervals
// of minutes ([Hours]), friendship becomes mutual ([Graph]).
//
// The package must not know what is asked of items: no request, no method.
package catalog
