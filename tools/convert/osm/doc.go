// Package osm turns restaurants of OpenStreetMap into items: tags into typed
// attributes and categories, opening_hours into intervals ([ParseHours]). What
// cannot be read is said, item by item, and left unknown rather than guessed.
//
// The data are © OpenStreetMap contributors, ODbL 1.0. They hold no reviews;
// `scruple generate --from` makes some up, which are not real.
//
// The package must not know what is asked of items.
package osm
