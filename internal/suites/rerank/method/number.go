package method

import (
	"fmt"
	"strconv"
)

// A number is a number in a model's JSON. It may be a string with a place in any
// form that [ReadRanking] reads, such as "3" or "#3"; null is 0.
type number int

func (n *number) UnmarshalJSON(data []byte) error {
	var v any
	if err := unmarshal(data, &v); err != nil || v == nil || v == "" {
		return err
	}
	i, err := whole(v)
	*n = number(i)
	return err
}

func whole(v any) (int, error) {
	text, _ := element(v)
	i, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s is not a whole number", ellipsis(text, 40))
	}
	return i, nil
}

// numbers is an array of numbers in a model's JSON, or one number alone.
type numbers []int

func (n *numbers) UnmarshalJSON(data []byte) error {
	var v any
	if err := unmarshal(data, &v); err != nil || v == nil {
		return err
	}
	array, ok := v.([]any)
	if !ok {
		array = []any{v}
	}
	*n = make(numbers, len(array))
	for k, e := range array {
		i, err := whole(e)
		if err != nil {
			return err
		}
		(*n)[k] = i
	}
	return nil
}
