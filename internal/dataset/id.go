package dataset

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
)

// An ID is that of a record: a text of JSON, or a number. A whole number is written in one way, as
// programs write 7 and 7.0 for the same item.
type ID string

// UnmarshalJSON accepts a string or a number. Null is no id.
func (id *ID) UnmarshalJSON(data []byte) error {
	switch {
	case string(data) == "null":
		*id = ""
	case data[0] == '"':
		return json.Unmarshal(data, (*string)(id))
	case strings.IndexByte("{[tf", data[0]) >= 0:
		return errors.New("an id is a string or a number")
	default:
		*id = ID(data)
		if n, err := strconv.ParseFloat(string(data), 64); err == nil && n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			*id = ID(strconv.FormatInt(int64(n), 10))
		}
	}
	return nil
}
