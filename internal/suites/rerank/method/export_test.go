package method

// WeaverWithin is Weaver with a time limit for each query.
var WeaverWithin = weaverWithin
