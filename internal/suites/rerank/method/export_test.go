package method

// WeaverWithin is Weaver with other limits of its queries.
var WeaverWithin = weaverWithin
