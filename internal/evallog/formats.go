package evallog

// formats lists the formats.
var formats = []Format{inspect, lmEval, promptfoo, deepEval, eee, nemo, harbor}
