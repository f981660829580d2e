// Package osm converts OpenStreetMap restaurants to items: tags become typed
// attributes and categories, opening_hours become intervals ([ParseHours]). Values
// that do not parse are reported and stay unknown.
//
// The data are © OpenStreetMap contributors, ODbL 1.0. They have no reviews;
// `scruple rerank generate --from` generates synthetic ones.
//
// The package must not know requests.
package osm
