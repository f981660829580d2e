package extraction

import "encoding/json"

const simulatedProvider = "simulated"

func answerSheet(d *prepared) json.RawMessage { return nil }
func judgeSheet(q question) json.RawMessage   { return nil }
